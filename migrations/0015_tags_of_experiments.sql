-- Labels of experiments, as runs have them.
ALTER TABLE experiments ADD COLUMN tags text[] NOT NULL DEFAULT '{}';
CREATE INDEX experiments_by_tag ON experiments USING gin (tags);
