-- What the table of runs is sorted by, kept when a result is written: to find a run's latest result among those of its past
-- for each of 10,000 runs took 300 to 440 ms.

CREATE TABLE latest_results (
    run_id    uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    of_run    uuid NOT NULL,
    suite     text NOT NULL,
    row_set   text NOT NULL,
    decoding  text NOT NULL,
    step      integer NOT NULL,
    rows      integer NOT NULL,
    pass_at_1 double precision NOT NULL,
    reference double precision,
    PRIMARY KEY (suite, run_id)
);
CREATE INDEX latest_results_by_run ON latest_results (run_id);
COMMENT ON TABLE latest_results IS 'Of each run and suite, the result that says most of its present state: its own or one that it inherits.';

CREATE TABLE run_outcomes (
    run_id     uuid PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    of_run     uuid NOT NULL,
    suite      text NOT NULL,
    row_set    text NOT NULL,
    decoding   text NOT NULL,
    step       integer NOT NULL,
    difference double precision NOT NULL
);
COMMENT ON TABLE run_outcomes IS 'The result by which a run is judged: the latest that can be compared, on the suite that its overview charts.';
COMMENT ON COLUMN run_outcomes.of_run IS 'The run that was measured: for what a fork inherits, the one it comes from.';

CREATE TABLE run_costs (
    run_id         uuid PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    worker_seconds double precision NOT NULL
);
COMMENT ON TABLE run_costs IS 'How long workers worked on the items of finished steps.';

-- The suite that was measured with single answers at most steps, as the overview of a run chooses it.
CREATE FUNCTION charted_suite(run uuid) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT of_suite FROM (
        SELECT coalesce(protocol ->> 'suite', suite) AS of_suite, n, min(seq) AS first,
            count(DISTINCT b.step) FILTER (WHERE member_id IS NOT NULL) AS steps
        FROM past_of(run) past JOIN benchmark_results b USING (run_id)
        WHERE b.step IS NULL OR past.before IS NULL OR b.step <= past.before
        GROUP BY 1, suite, row_set, decoding, rows, n, coalesce((protocol ->> 'temperature')::double precision, 0)
    ) ways ORDER BY n = 1 DESC, steps DESC, first LIMIT 1
$$;

-- Finds again what results of these runs, and of the runs that were forked from them, come to.
CREATE FUNCTION renew_outcomes(changed uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    heirs uuid[];
BEGIN
    WITH RECURSIVE heir (id) AS (
        SELECT id FROM runs WHERE id = ANY (changed)
        UNION
        SELECT r.id FROM runs r JOIN heir ON r.forked_from = heir.id
    )
    SELECT array_agg(id) INTO heirs FROM heir;
    IF heirs IS NULL THEN
        RETURN;
    END IF;
    DELETE FROM latest_results WHERE run_id = ANY (heirs);
    INSERT INTO latest_results
    SELECT DISTINCT ON (heir.id, suite) heir.id, x.run_id, suite, row_set, decoding, step, rows, pass_at_1, reference
    FROM unnest(heirs) AS heir (id), LATERAL past_of(heir.id) past JOIN run_results x USING (run_id)
    WHERE past.before IS NULL OR step <= past.before
    ORDER BY heir.id, suite, step DESC, n = 1 DESC, rows DESC, row_set, decoding, past.before DESC;
    DELETE FROM run_outcomes WHERE run_id = ANY (heirs);
    INSERT INTO run_outcomes
    SELECT DISTINCT ON (heir.id) heir.id, x.run_id, suite, row_set, decoding, step, pass_at_1 - reference
    FROM unnest(heirs) AS heir (id), LATERAL charted_suite(heir.id) AS charted (suite_charted),
        LATERAL past_of(heir.id) past JOIN run_results x USING (run_id)
    WHERE (past.before IS NULL OR step <= past.before) AND reference IS NOT NULL
        AND (of_suite = suite_charted OR suite = 'held-out rows')
    ORDER BY heir.id, suite = 'held-out rows', step DESC, n = 1 DESC, rows DESC, suite DESC, row_set DESC, decoding DESC,
        past.before DESC;
END $$;

CREATE FUNCTION note_outcomes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM renew_outcomes((SELECT array_agg(DISTINCT run_id) FROM changed));
    RETURN NULL;
END $$;
CREATE TRIGGER outcomes_of_new AFTER INSERT ON run_results REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION note_outcomes();
CREATE TRIGGER outcomes_of_changed AFTER UPDATE ON run_results REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION note_outcomes();
CREATE TRIGGER outcomes_of_removed AFTER DELETE ON run_results REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION note_outcomes();

CREATE FUNCTION note_origin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM renew_outcomes(ARRAY[NEW.id]);
    RETURN NULL;
END $$;
CREATE TRIGGER outcomes_inherited AFTER INSERT ON runs
    FOR EACH ROW WHEN (NEW.forked_from IS NOT NULL) EXECUTE FUNCTION note_origin();
CREATE TRIGGER outcomes_disinherited AFTER UPDATE OF forked_from, forked_at_step ON runs
    FOR EACH ROW WHEN ((NEW.forked_from, NEW.forked_at_step) IS DISTINCT FROM (OLD.forked_from, OLD.forked_at_step))
    EXECUTE FUNCTION note_origin();

CREATE FUNCTION note_cost() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO run_costs
    SELECT r.id, coalesce(sum(extract(epoch FROM w.finished_at - w.started_at)), 0)
    FROM runs r LEFT JOIN work w ON w.execution_id = r.id AND w.step = NEW.step AND w.started_at <= w.finished_at
    WHERE r.id = NEW.execution_id GROUP BY r.id
    ON CONFLICT (run_id) DO UPDATE SET worker_seconds = run_costs.worker_seconds + excluded.worker_seconds;
    RETURN NULL;
END $$;
CREATE TRIGGER cost_noted AFTER UPDATE OF finished_at ON steps
    FOR EACH ROW WHEN (OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL) EXECUTE FUNCTION note_cost();

INSERT INTO run_costs
SELECT r.id, sum(extract(epoch FROM w.finished_at - w.started_at))
FROM runs r JOIN steps s ON s.execution_id = r.id AND s.finished_at IS NOT NULL
JOIN work w ON w.execution_id = r.id AND w.step = s.step AND w.started_at <= w.finished_at GROUP BY r.id;
SELECT renew_outcomes((SELECT array_agg(DISTINCT run_id) FROM run_results));
