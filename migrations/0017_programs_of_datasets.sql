-- Problems of self-play overlap when they are about the same program, whatever they ask of it. `lyceum_core::dataset` computes the
-- same hash: SHA-256 of the program with runs of ASCII white space as single spaces.
ALTER TABLE dataset_rows ADD COLUMN program_fingerprint bytea;
COMMENT ON COLUMN dataset_rows.program_fingerprint IS 'Hash of the program that a row of self-play is about, by which overlap of datasets is found as well.';

WITH programs AS (
    SELECT dataset_id, index, CASE
        WHEN row -> 'oracle' ->> 'type' = 'code_f' THEN row ->> 'canonical'
        WHEN row -> 'oracle' ->> 'type' IS NOT NULL THEN row -> 'oracle' ->> 'program'
        WHEN row ? 'type' THEN row ->> 'program'
        ELSE row ->> 'snippet'
    END AS program FROM dataset_rows
)
UPDATE dataset_rows SET program_fingerprint =
    sha256(convert_to(btrim(regexp_replace(program, E'[ \t\n\u000b\f\r]+', ' ', 'g')), 'UTF8'))
FROM programs
WHERE program IS NOT NULL AND programs.dataset_id = dataset_rows.dataset_id AND programs.index = dataset_rows.index;
-- What a seed asks is its program; its input alone was hashed before.
UPDATE dataset_rows SET fingerprint = program_fingerprint
WHERE row ? 'snippet' AND NOT row ? 'type' AND NOT row ? 'oracle' AND program_fingerprint IS NOT NULL;

CREATE INDEX dataset_rows_by_program ON dataset_rows (program_fingerprint) WHERE program_fingerprint IS NOT NULL;
