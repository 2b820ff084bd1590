-- What runs that learn from a dataset leave of a step besides attempts.

-- All members' answers to a row, counted. The key is in the order in which a row's history is read.
CREATE TABLE row_answers (
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    row             integer NOT NULL,
    step            integer NOT NULL,
    problem_id      uuid NOT NULL REFERENCES problems ON DELETE CASCADE,
    answers         integer NOT NULL CHECK (answers > 0),
    correct         integer NOT NULL CHECK (correct BETWEEN 0 AND answers),
    PRIMARY KEY (run_id, row, step) INCLUDE (answers, correct, problem_id)
);
CREATE INDEX row_answers_by_problem ON row_answers (problem_id);

-- Rows by their latest answers at the end of a step, kept by the statement that writes these.
CREATE TABLE row_difficulty (
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    never           bigint NOT NULL CHECK (never >= 0),
    sometimes       bigint NOT NULL CHECK (sometimes >= 0),
    always          bigint NOT NULL CHECK (always >= 0),
    PRIMARY KEY (run_id, step)
);

-- A member's answers to the rows that are never learned from. They are not attempts, so sums over attempts leave them out.
CREATE TABLE held_out_results (
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    member_id       uuid NOT NULL REFERENCES members ON DELETE CASCADE,
    version_id      uuid NOT NULL REFERENCES adapter_versions ON DELETE CASCADE,
    seq             bigint GENERATED ALWAYS AS IDENTITY,
    first_row       integer NOT NULL,
    n               integer NOT NULL CHECK (n > 0),
    correct         integer[] NOT NULL,
    PRIMARY KEY (run_id, step, member_id)
);
CREATE UNIQUE INDEX held_out_results_by_run ON held_out_results (run_id, seq);
COMMENT ON COLUMN held_out_results.correct IS 'Correct answers of n, by row from first_row on.';
