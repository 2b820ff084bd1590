-- Files by the SHA-256 of their content. A row is written after its bytes, so what is named can be read.
CREATE TABLE artifacts (
    digest          text PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
    kind            text NOT NULL CHECK (kind IN ('adapter', 'optimizer', 'tokens', 'gradient', 'samples', 'embeddings')),
    bytes           bigint NOT NULL CHECK (bytes >= 0),
    created_at      timestamptz NOT NULL DEFAULT now(),
    removed_at      timestamptz
);
CREATE INDEX artifacts_present ON artifacts (created_at) WHERE removed_at IS NULL;

-- Who needs an artifact, and until when: a step's token batches and gradients until the step is over, a version's
-- weights always, its optimizer state for the last two versions and while it is pinned.
CREATE TABLE artifact_holds (
    digest          text NOT NULL REFERENCES artifacts,
    execution_id    uuid NOT NULL REFERENCES executions ON DELETE CASCADE,
    reason          text NOT NULL CHECK (reason IN ('step', 'version', 'optimizer', 'birth', 'fork', 'evaluation', 'state')),
    holder          uuid NOT NULL,
    step            integer,
    PRIMARY KEY (digest, execution_id, reason, holder)
);
CREATE INDEX artifact_holds_by_step ON artifact_holds (execution_id, reason, step);
