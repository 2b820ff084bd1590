-- Attempts at one problem go together, so the interval of a pair's solve rate needs sums over problems of the squares of its
-- solved and all attempts, and of their product. A release before this one leaves them at 0 in rows that it writes.
ALTER TABLE cross_play
    ADD COLUMN problems         bigint NOT NULL DEFAULT 0,
    ADD COLUMN solved_squared   bigint NOT NULL DEFAULT 0,
    ADD COLUMN solved_attempts  bigint NOT NULL DEFAULT 0,
    ADD COLUMN attempts_squared bigint NOT NULL DEFAULT 0;
ALTER TABLE evaluated_cross_play
    ADD COLUMN problems         bigint NOT NULL DEFAULT 0,
    ADD COLUMN solved_squared   bigint NOT NULL DEFAULT 0,
    ADD COLUMN solved_attempts  bigint NOT NULL DEFAULT 0,
    ADD COLUMN attempts_squared bigint NOT NULL DEFAULT 0;

CREATE TEMPORARY TABLE met ON COMMIT DROP AS
SELECT run_id, evaluation_id, step, proposer_id, member_id, type, count(*) AS problems, sum(solved * solved)::bigint AS solved_squared,
    sum(solved * attempts)::bigint AS solved_attempts, sum(attempts * attempts)::bigint AS attempts_squared
FROM (SELECT a.run_id, a.evaluation_id, a.step, p.proposer_id, a.member_id, p.type, count(*) AS attempts,
          count(*) FILTER (WHERE a.correct) AS solved
      FROM attempts a JOIN problems p ON p.id = a.problem_id
      WHERE p.proposer_id IS NOT NULL AND a.role IN ('student', 'solver')
      GROUP BY a.run_id, a.evaluation_id, a.step, p.proposer_id, a.member_id, p.type, a.problem_id) by_problem
GROUP BY run_id, evaluation_id, step, proposer_id, member_id, type;

UPDATE cross_play c SET problems = met.problems, solved_squared = met.solved_squared, solved_attempts = met.solved_attempts,
    attempts_squared = met.attempts_squared
FROM met WHERE met.evaluation_id IS NULL
    AND (c.run_id, c.step, c.teacher_id, c.student_id, c.type) = (met.run_id, met.step, met.proposer_id, met.member_id, met.type);
UPDATE evaluated_cross_play c SET problems = met.problems, solved_squared = met.solved_squared,
    solved_attempts = met.solved_attempts, attempts_squared = met.attempts_squared
FROM met WHERE (c.evaluation_id, c.step, c.teacher_id, c.student_id, c.type)
    = (met.evaluation_id, met.step, met.proposer_id, met.member_id, met.type);
