-- How many answers of a result ended at the limit of tokens.

ALTER TABLE benchmark_results ADD COLUMN truncated bigint;
COMMENT ON COLUMN benchmark_results.truncated IS 'Samples that ended at the limit of tokens; null where a release before this one wrote the result.';

UPDATE benchmark_results AS result SET truncated = (
    SELECT count(*) FROM benchmark_samples AS sample
    WHERE sample.evaluation_id = result.evaluation_id AND sample.suite = result.suite AND sample.subject = result.subject
        AND sample.finish_reason = 'length');
