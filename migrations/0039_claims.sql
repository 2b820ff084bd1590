-- A claim prefers the execution that was served least recently, and items of a base that its worker has loaded.
CREATE INDEX work_served ON work (execution_id, kind, started_at DESC) WHERE started_at IS NOT NULL;
CREATE INDEX work_ready_of_base ON work (execution_id, kind, sampler, trainer, base_model, seq) WHERE state = 'ready';
