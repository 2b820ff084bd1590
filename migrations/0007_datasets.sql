CREATE TABLE datasets (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    name            text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
    purpose         text NOT NULL CHECK (purpose IN ('seeds', 'goalposts', 'training', 'benchmark')),
    suite           text,
    sha256          text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    source          text NOT NULL DEFAULT '',
    revision        text,
    rows            integer NOT NULL CHECK (rows > 0),
    created_at      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE dataset_rows (
    dataset_id      uuid NOT NULL REFERENCES datasets ON DELETE CASCADE,
    index           integer NOT NULL,
    row             jsonb NOT NULL,
    fingerprint     bytea NOT NULL,
    PRIMARY KEY (dataset_id, index)
);
CREATE INDEX dataset_rows_by_fingerprint ON dataset_rows (fingerprint);
COMMENT ON COLUMN dataset_rows.fingerprint IS 'Hash of the row''s normalised question, by which overlap of datasets is found.';
