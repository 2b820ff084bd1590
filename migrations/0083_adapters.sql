-- Imported adapters, which members may begin with. Their weights are kept for as long as the row, without a hold: holds belong to
-- executions.
CREATE TABLE adapters (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    name            text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
    base_model      jsonb NOT NULL,
    lora            jsonb NOT NULL,
    artifact        text NOT NULL REFERENCES artifacts,
    source          text NOT NULL CHECK (length(source) <= 2000),
    created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX adapters_by_artifact ON adapters (artifact);

ALTER TABLE births ADD COLUMN ancestor text;
COMMENT ON COLUMN births.ancestor IS 'What a founder began with, if not with fresh weights: an imported adapter, or a version of another run, as it was called at the birth. It stays when that is deleted.';
