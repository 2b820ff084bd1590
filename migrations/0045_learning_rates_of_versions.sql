-- The learning rate of a member that has its own (population-based training); null for the optimizer's.
ALTER TABLE adapter_versions ADD COLUMN learning_rate double precision CHECK (learning_rate > 0);
