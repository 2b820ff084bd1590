-- How many answers of a result had nothing in them that could be graded.

ALTER TABLE benchmark_results ADD COLUMN without_solution bigint;
COMMENT ON COLUMN benchmark_results.without_solution IS 'Samples in which no solution was found; null where a release before this one wrote the result.';

UPDATE benchmark_results AS result SET without_solution = (
    SELECT count(*) FROM benchmark_samples AS sample
    WHERE sample.evaluation_id = result.evaluation_id AND sample.suite = result.suite AND sample.subject = result.subject
        AND sample.solution IS NULL);
