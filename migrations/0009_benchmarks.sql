-- What an evaluation of type `benchmark` measured: a row a suite and subject. Counts are kept row by row of the suite, since
-- pass@k for any k is made of them.
CREATE TABLE benchmark_results (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    evaluation_id   uuid NOT NULL REFERENCES evaluations ON DELETE CASCADE,
    suite           text NOT NULL CHECK (length(suite) BETWEEN 1 AND 200),
    subject         integer NOT NULL CHECK (subject >= 0),
    name            text NOT NULL,
    role            text NOT NULL CHECK (role IN ('base', 'baseline', 'student', 'teacher', 'member')),
    run_id          uuid REFERENCES runs ON DELETE CASCADE,
    member_id       uuid REFERENCES members ON DELETE CASCADE,
    version_id      uuid REFERENCES adapter_versions ON DELETE CASCADE,
    step            integer,
    base_model      text NOT NULL,
    dataset_id      uuid REFERENCES datasets ON DELETE SET NULL,
    protocol        jsonb NOT NULL,
    n               integer NOT NULL CHECK (n > 0),
    rows            integer NOT NULL CHECK (rows > 0),
    samples         integer[] NOT NULL,
    correct         integer[] NOT NULL,
    base_correct    integer[],
    pass_at_1       double precision NOT NULL CHECK (pass_at_1 BETWEEN 0 AND 1),
    standard_error  double precision NOT NULL,
    completion_tokens bigint NOT NULL,
    seconds         double precision NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (evaluation_id, suite, subject),
    CHECK (cardinality(samples) = rows AND cardinality(correct) = rows)
);
CREATE INDEX benchmark_results_by_run ON benchmark_results (run_id, seq);
CREATE INDEX benchmark_results_by_suite ON benchmark_results (suite, pass_at_1 DESC, seq);
CREATE INDEX benchmark_results_by_member ON benchmark_results (member_id, suite, step);
COMMENT ON COLUMN benchmark_results.step IS 'Steps of the run that the weights have seen; none for the base.';

-- The samples behind them. The primary key is what keeps one from being counted twice.
CREATE TABLE benchmark_samples (
    seq             bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    evaluation_id   uuid NOT NULL REFERENCES evaluations ON DELETE CASCADE,
    suite           text NOT NULL,
    subject         integer NOT NULL,
    row             integer NOT NULL,
    sample          integer NOT NULL,
    task_id         text NOT NULL,
    text            text NOT NULL,
    solution        text,
    finish_reason   text NOT NULL CHECK (finish_reason IN ('stop', 'length')),
    tokens          integer NOT NULL,
    status          text NOT NULL,
    reason          text NOT NULL,
    correct         boolean NOT NULL,
    base_correct    boolean,
    PRIMARY KEY (evaluation_id, suite, subject, row, sample)
);
CREATE INDEX benchmark_samples_by_evaluation ON benchmark_samples (evaluation_id, seq);
CREATE INDEX benchmark_samples_by_correct ON benchmark_samples (evaluation_id, correct, seq);
CREATE INDEX benchmark_samples_by_task ON benchmark_samples (evaluation_id, task_id, seq);
