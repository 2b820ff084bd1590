-- Tests that nothing calls pass for every program. So the tests of rows are tried before anything uses them, by an evaluation.
ALTER TABLE datasets ADD COLUMN check_id uuid REFERENCES executions ON DELETE SET NULL;
ALTER TABLE datasets ADD COLUMN checked_at timestamptz;
CREATE INDEX datasets_by_check ON datasets (check_id) WHERE check_id IS NOT NULL;
COMMENT ON COLUMN datasets.check_id IS 'The newest evaluation that tries the tests of its rows; none before the first.';
COMMENT ON COLUMN datasets.checked_at IS 'When this evaluation had tried all; none until then, and for datasets without tests.';

ALTER TABLE dataset_rows ADD COLUMN line integer;
COMMENT ON COLUMN dataset_rows.line IS 'The line of the file that it was read from, from 1; none for rows of one document and those of older releases.';
CREATE INDEX dataset_rows_with_tests ON dataset_rows (dataset_id) WHERE row -> 'oracle' ->> 'type' = 'script';

CREATE TABLE dataset_bad_rows (
    dataset_id      uuid NOT NULL,
    index           integer NOT NULL,
    reason          text NOT NULL CHECK (reason IN ('passes_empty', 'fails_canonical', 'unusable')),
    message         text NOT NULL,
    PRIMARY KEY (dataset_id, index),
    FOREIGN KEY (dataset_id, index) REFERENCES dataset_rows ON DELETE CASCADE
);
COMMENT ON TABLE dataset_bad_rows IS 'Rows whose tests cannot be used, as the newest check found them.';
