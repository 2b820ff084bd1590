-- Views that people come back to, and links that show one of them to others.
CREATE TABLE views (
    id          uuid PRIMARY KEY,
    seq         bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    address     text NOT NULL CHECK (length(address) <= 2000),
    created_at  timestamptz NOT NULL DEFAULT now()
);
COMMENT ON COLUMN views.address IS 'Path and query of a page.';

CREATE TABLE shares (
    id          uuid PRIMARY KEY,
    seq         bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    hash        bytea NOT NULL UNIQUE,
    address     text NOT NULL CHECK (length(address) <= 2000),
    token_id    uuid REFERENCES tokens ON DELETE CASCADE,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz NOT NULL
);
COMMENT ON COLUMN shares.hash IS 'Of the secret in the link, which only its holders know.';
COMMENT ON COLUMN shares.token_id IS 'Whose link it is: one whose token was revoked shows nothing.';
