CREATE TABLE experiments (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    name            text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
    description     text NOT NULL DEFAULT '' CHECK (length(description) <= 20000),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now()
);

-- What a run has besides what it shares with evaluations. Totals are kept, never counted.
CREATE TABLE runs (
    id              uuid PRIMARY KEY REFERENCES executions ON DELETE CASCADE,
    experiment_id   uuid REFERENCES experiments,
    name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    arm             text NOT NULL,
    seed            numeric(20) NOT NULL,
    preset          text,
    tags            text[] NOT NULL DEFAULT '{}',
    note            text NOT NULL DEFAULT '' CHECK (length(note) <= 20000),
    forked_from     uuid REFERENCES runs ON DELETE SET NULL,
    forked_at_step  integer,
    problems        bigint NOT NULL DEFAULT 0,
    valid_problems  bigint NOT NULL DEFAULT 0,
    attempts        bigint NOT NULL DEFAULT 0,
    matchups        bigint NOT NULL DEFAULT 0,
    cells           bigint NOT NULL DEFAULT 0,
    CHECK ((forked_from IS NULL AND forked_at_step IS NULL) OR forked_at_step IS NOT NULL)
);
CREATE INDEX runs_by_experiment ON runs (experiment_id, arm);
CREATE INDEX runs_by_name ON runs (lower(name) text_pattern_ops);
CREATE INDEX runs_by_tag ON runs USING gin (tags);
COMMENT ON COLUMN runs.arm IS 'Hash of the config without its seed: the runs of one arm differ by seed alone.';

CREATE TABLE evaluations (
    id              uuid PRIMARY KEY REFERENCES executions ON DELETE CASCADE,
    run_id          uuid REFERENCES runs ON DELETE CASCADE,
    spec            jsonb NOT NULL,
    result          jsonb
);
CREATE INDEX evaluations_by_run ON evaluations (run_id);
