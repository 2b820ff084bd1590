-- A rule by which an experiment has enough seeds: a sequential test of the difference of each arm from the first.

ALTER TABLE experiments ADD COLUMN stopping jsonb;
COMMENT ON COLUMN experiments.stopping IS 'alpha, beta, h0 and h1 of lyceum_core::sequential::SequentialTest; none if it is off.';
