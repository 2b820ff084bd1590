-- What generates an item's tokens: the worker's engine, or a server that workers were given.
ALTER TABLE work ADD COLUMN sampler text NOT NULL DEFAULT 'engine' CHECK (sampler IN ('engine', 'served'));
-- A claim takes the first entry that fits, so it must not step over items of the other sampler.
DROP INDEX work_ready;
CREATE INDEX work_ready ON work (execution_id, kind, sampler, seq) WHERE state = 'ready';
