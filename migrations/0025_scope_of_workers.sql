-- A scope for workers' tokens, which is not part of the others.
ALTER TABLE tokens DROP CONSTRAINT tokens_scope_check;
ALTER TABLE tokens ADD CONSTRAINT tokens_scope_check CHECK (scope IN ('worker', 'read', 'write', 'admin'));
