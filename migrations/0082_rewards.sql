-- Rewards of users: Python files, by the SHA-256 of their content. Rows of datasets name them; they are never removed, since
-- a row that has lost its reward could not be judged again.
CREATE TABLE rewards (
    digest          text PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
    source          text NOT NULL CHECK (octet_length(source) <= 65536),
    created_at      timestamptz NOT NULL DEFAULT now()
);

DROP INDEX dataset_rows_with_tests;
CREATE INDEX dataset_rows_with_tests ON dataset_rows (dataset_id) WHERE row -> 'oracle' ->> 'type' IN ('script', 'python');
