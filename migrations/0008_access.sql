CREATE TABLE tokens (
    id              uuid PRIMARY KEY,
    name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    hash            bytea NOT NULL UNIQUE,
    scope           text NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
    created_at      timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz,
    last_used_at    timestamptz,
    revoked_at      timestamptz
);
COMMENT ON COLUMN tokens.hash IS 'SHA-256 of the token; the token itself is shown once and kept nowhere.';

CREATE TABLE sessions (
    hash            bytea PRIMARY KEY,
    token_id        uuid NOT NULL REFERENCES tokens ON DELETE CASCADE,
    csrf            text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz NOT NULL
);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- Answers to creations, so that a repeated request repeats the answer. Kept for a day.
CREATE TABLE idempotency_keys (
    token_id        uuid NOT NULL REFERENCES tokens ON DELETE CASCADE,
    key             text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    fingerprint     bytea NOT NULL,
    status          smallint,
    response        jsonb,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (token_id, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
