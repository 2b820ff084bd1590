-- What lists of runs show of metrics, sort by and filter by.

-- The run's own metrics averaged over its last steps, in the order of executions.metrics.
CREATE TABLE recent_metrics (
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    steps           smallint NOT NULL CHECK (steps IN (1, 16, 64)),
    "values"        double precision[] NOT NULL,
    PRIMARY KEY (run_id, steps)
);
COMMENT ON TABLE recent_metrics IS 'Kept by a trigger of metrics, so that whoever writes those, a release before this one among them, keeps it right.';
COMMENT ON COLUMN recent_metrics."values" IS 'Missing values do not count; NaN if there is none.';

CREATE FUNCTION renew_recent_metrics(run uuid) RETURNS void LANGUAGE sql AS $$
    INSERT INTO recent_metrics (run_id, steps, "values")
    SELECT run, width, (
        SELECT array_agg(mean ORDER BY place) FROM (
            SELECT place, coalesce(avg(value) FILTER (WHERE value <> 'NaN'), 'NaN') AS mean
            FROM metrics m, unnest(m."values") WITH ORDINALITY AS each (value, place)
            WHERE m.run_id = run AND m.member_id IS NULL AND m.step > newest.step - width
            GROUP BY place
        ) means)
    FROM unnest(ARRAY[1, 16, 64]) AS width,
        (SELECT max(step) AS step FROM metrics WHERE run_id = run AND member_id IS NULL) newest
    WHERE EXISTS (SELECT FROM metrics m WHERE m.run_id = run AND m.member_id IS NULL AND m.step = newest.step
        AND cardinality(m."values") > 0)
    ON CONFLICT (run_id, steps) DO UPDATE SET "values" = excluded."values"
$$;

CREATE FUNCTION keep_recent_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM renew_recent_metrics(run_id) FROM (SELECT DISTINCT run_id FROM rows_after WHERE member_id IS NULL) written;
    RETURN NULL;
END $$;

CREATE TRIGGER metrics_inserted AFTER INSERT ON metrics
    REFERENCING NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION keep_recent_metrics();

-- The trigger keeps others from writing metrics until all of this is committed, so nothing is missed.
SELECT renew_recent_metrics(id) FROM runs;
