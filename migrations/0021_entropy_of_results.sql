ALTER TABLE benchmark_results ADD COLUMN entropy double precision;
COMMENT ON COLUMN benchmark_results.entropy IS 'Mean surprisal of a token under the distribution it was drawn from, in nats.';
