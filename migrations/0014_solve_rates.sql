-- What learnability is drawn from, and where a teacher's attempts stand.

-- Attempted problems of a step by the share of attempts that solved them.
CREATE TABLE solve_rates (
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    solve_rate      real NOT NULL,
    problems        bigint NOT NULL CHECK (problems >= 0),
    PRIMARY KEY (run_id, step, solve_rate)
);
COMMENT ON TABLE solve_rates IS 'Kept by triggers of problems, so that whoever writes those, a release before this one among them, keeps it right.';

CREATE FUNCTION count_solve_rates() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        UPDATE solve_rates kept SET problems = kept.problems - gone.problems
        FROM (SELECT run_id, step, solve_rate, count(*) AS problems FROM rows_before
              WHERE solve_rate IS NOT NULL AND attempts > 0 GROUP BY run_id, step, solve_rate) gone
        WHERE kept.run_id = gone.run_id AND kept.step = gone.step AND kept.solve_rate = gone.solve_rate;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO solve_rates AS kept (run_id, step, solve_rate, problems)
        SELECT run_id, step, solve_rate, count(*) FROM rows_after
        WHERE solve_rate IS NOT NULL AND attempts > 0 GROUP BY run_id, step, solve_rate
        ON CONFLICT (run_id, step, solve_rate) DO UPDATE SET problems = kept.problems + excluded.problems;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER problems_inserted AFTER INSERT ON problems
    REFERENCING NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION count_solve_rates();
CREATE TRIGGER problems_updated AFTER UPDATE ON problems
    REFERENCING OLD TABLE AS rows_before NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION count_solve_rates();
CREATE TRIGGER problems_deleted AFTER DELETE ON problems
    REFERENCING OLD TABLE AS rows_before FOR EACH STATEMENT EXECUTE FUNCTION count_solve_rates();

-- The triggers keep others from writing problems until all of this is committed, so nothing is missed or counted twice.
INSERT INTO solve_rates (run_id, step, solve_rate, problems)
SELECT run_id, step, solve_rate, count(*) FROM problems
WHERE solve_rate IS NOT NULL AND attempts > 0 GROUP BY run_id, step, solve_rate;

-- The steps in which a teacher's problems were attempted.
CREATE INDEX cross_play_of_teacher ON cross_play (teacher_id, step);
