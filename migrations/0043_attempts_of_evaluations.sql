-- What an evaluation has members attempt is not what the run did: it counts nowhere, unless somebody asks for it.
ALTER TABLE attempts ADD COLUMN evaluation_id uuid REFERENCES evaluations ON DELETE CASCADE;
CREATE INDEX attempts_of_evaluations ON attempts (evaluation_id) WHERE evaluation_id IS NOT NULL;
COMMENT ON COLUMN attempts.evaluation_id IS 'The evaluation that had it made; none for attempts of the run itself.';

-- As cross_play, of attempts of evaluations.
CREATE TABLE evaluated_cross_play (
    evaluation_id   uuid NOT NULL REFERENCES evaluations ON DELETE CASCADE,
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    teacher_id      uuid NOT NULL REFERENCES members ON DELETE CASCADE,
    student_id      uuid NOT NULL REFERENCES members ON DELETE CASCADE,
    type            text NOT NULL,
    attempts        bigint NOT NULL,
    solved          bigint NOT NULL CHECK (solved BETWEEN 0 AND attempts),
    PRIMARY KEY (evaluation_id, step, teacher_id, student_id, type)
);
CREATE INDEX evaluated_cross_play_by_run ON evaluated_cross_play (run_id);
CREATE INDEX evaluated_cross_play_by_teacher ON evaluated_cross_play (teacher_id);
CREATE INDEX evaluated_cross_play_by_student ON evaluated_cross_play (student_id);

-- Attempts of earlier evaluations: those at problems of an earlier step, made after the evaluation was, in the step that it names.
WITH moved AS (
    UPDATE attempts a SET evaluation_id = v.id
    FROM problems p, evaluations v, executions e
    WHERE v.spec ->> 'type' = 'cross_play' AND e.id = v.id AND a.run_id = v.run_id AND a.step = (v.spec ->> 'step')::int
        AND a.created_at >= e.created_at AND p.id = a.problem_id AND p.step < a.step AND p.proposer_id IS NOT NULL
    RETURNING a.evaluation_id, a.run_id, a.step, p.proposer_id, a.member_id, p.type, a.correct
), sums AS (
    SELECT evaluation_id, run_id, step, proposer_id, member_id, type, count(*) AS attempts,
        count(*) FILTER (WHERE correct) AS solved
    FROM moved GROUP BY evaluation_id, run_id, step, proposer_id, member_id, type
), kept AS (
    INSERT INTO evaluated_cross_play SELECT * FROM sums
), taken AS (
    UPDATE cross_play c SET attempts = c.attempts - s.attempts, solved = c.solved - s.solved
    FROM (SELECT run_id, step, proposer_id, member_id, type, sum(attempts)::bigint AS attempts, sum(solved)::bigint AS solved
          FROM sums GROUP BY run_id, step, proposer_id, member_id, type) s
    WHERE c.run_id = s.run_id AND c.step = s.step AND c.teacher_id = s.proposer_id AND c.student_id = s.member_id AND c.type = s.type
)
UPDATE runs r SET attempts = r.attempts - s.attempts
FROM (SELECT run_id, sum(attempts)::bigint AS attempts FROM sums GROUP BY run_id) s WHERE r.id = s.run_id;
DELETE FROM cross_play WHERE attempts = 0;
