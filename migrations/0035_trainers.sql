-- What takes an update's optimizer steps: the worker's engine, or a group of processes that the worker starts.
ALTER TABLE work ADD COLUMN trainer text NOT NULL DEFAULT 'engine' CHECK (trainer IN ('engine', 'torchrun'));
-- A claim takes the first entry that fits, so it must not step over items of the other trainer.
DROP INDEX work_ready;
CREATE INDEX work_ready ON work (execution_id, kind, sampler, trainer, seq) WHERE state = 'ready';
