-- Which rule found an answer, where answers are read by several.

ALTER TABLE attempts ADD COLUMN reading text CHECK (reading IN ('form', 'line', 'boxed', 'literal'));
COMMENT ON COLUMN attempts.reading IS 'The rule that found the answer; null if the run reads by one rule, or nothing was found.';

ALTER TABLE benchmark_samples ADD COLUMN reading text CHECK (reading IN ('form', 'line', 'boxed', 'literal'));
COMMENT ON COLUMN benchmark_samples.reading IS 'The rule that found the solution; null if the suite is read by one rule, or nothing was found.';

ALTER TABLE benchmark_results ADD COLUMN other_rules bigint;
COMMENT ON COLUMN benchmark_results.other_rules IS 'Samples whose solution another rule than the form found; null if the suite is read by one rule.';
