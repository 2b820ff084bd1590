-- Ends of Lyceum's own processes that nobody asked for. Supervisors write them; `/` shows them.
CREATE TABLE crashes (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host        text NOT NULL,
    program     text NOT NULL,
    cause       text NOT NULL,
    last_words  text NOT NULL,
    times       bigint NOT NULL DEFAULT 1 CHECK (times > 0),
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL
);
COMMENT ON COLUMN crashes.times IS 'How often in a row the program ended for this cause; a row of its own for each other cause.';
CREATE INDEX crashes_last_at ON crashes (last_at);
