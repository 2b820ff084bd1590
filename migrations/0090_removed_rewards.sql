-- A reward can be removed, for example since its text holds a key: its digest stays, so that runs and rows that name it say so.
ALTER TABLE rewards ADD COLUMN removed_at timestamptz;
COMMENT ON COLUMN rewards.removed_at IS 'When its text was removed; NULL while it can be used.';
