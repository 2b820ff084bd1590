-- What an item is computed on, `cpu` or `cuda`; NULL means anything. A claim steps over the few items that need another.
ALTER TABLE work ADD COLUMN device text CHECK (device IN ('cpu', 'cuda'));
-- What a worker has. Empty for one of an earlier release, which does not say.
ALTER TABLE workers ADD COLUMN samplers text[] NOT NULL DEFAULT '{}', ADD COLUMN trainers text[] NOT NULL DEFAULT '{}';
