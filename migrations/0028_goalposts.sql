-- How often the subjects of an evaluation of goalposts solved each problem, in slices of the dataset.
CREATE TABLE goalpost_counts (
    evaluation_id   uuid NOT NULL REFERENCES evaluations ON DELETE CASCADE,
    subject         integer NOT NULL CHECK (subject >= 0),
    first_row       integer NOT NULL CHECK (first_row >= 0),
    name            text NOT NULL,
    control         boolean NOT NULL,
    run_id          uuid REFERENCES runs ON DELETE CASCADE,
    member_id       uuid REFERENCES members ON DELETE CASCADE,
    version_id      uuid REFERENCES adapter_versions ON DELETE CASCADE,
    step            integer,
    base_model      text NOT NULL,
    dataset_id      uuid REFERENCES datasets ON DELETE SET NULL,
    n               integer NOT NULL CHECK (n > 0),
    correct         integer[] NOT NULL,
    completion_tokens bigint NOT NULL,
    seconds         double precision NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (evaluation_id, subject, first_row)
);
CREATE INDEX goalpost_counts_by_run ON goalpost_counts (run_id, dataset_id, step);
COMMENT ON COLUMN goalpost_counts.correct IS 'Correct attempts of n, by row from first_row on.';
COMMENT ON COLUMN goalpost_counts.control IS 'The untrained base in place of the checkpoint that run, member and step name.';

-- Which evaluations a dataset of goalposts was filtered by, and how many rows each left.
ALTER TABLE datasets ADD COLUMN provenance jsonb;
