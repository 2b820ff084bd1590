-- One model of measurement. A result is of a checkpoint, on a suite's row set, with a decoding; it knows its difference from
-- the base on exactly those rows. A run's result is the mean over its members that solve.

ALTER TABLE benchmark_results
    ADD COLUMN row_set text,
    ADD COLUMN decoding text,
    ADD COLUMN reference double precision,
    ADD COLUMN difference_low double precision,
    ADD COLUMN difference_high double precision;
COMMENT ON COLUMN benchmark_results.row_set IS 'Hash of the rows'' contents in order: equal rows of two imports are one row set.';
COMMENT ON COLUMN benchmark_results.decoding IS 'Hash of everything in the protocol that influences scores.';
COMMENT ON COLUMN benchmark_results.reference IS 'pass@1 of the base on the same row set with the same decoding; none if it was not measured so.';
COMMENT ON COLUMN benchmark_results.difference_low IS 'The interval of 95 % of the paired difference from it.';

CREATE TABLE run_results (
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    suite           text NOT NULL,
    row_set         text NOT NULL,
    decoding        text NOT NULL,
    step            integer NOT NULL,
    of_suite        text NOT NULL,
    base_model      text NOT NULL,
    temperature     double precision,
    n               integer NOT NULL,
    rows            integer NOT NULL,
    members         integer NOT NULL,
    shares          double precision[] NOT NULL,
    pass_at_1       double precision NOT NULL,
    standard_error  double precision NOT NULL,
    reference       double precision,
    reference_step  integer,
    difference_low  double precision,
    difference_high double precision,
    PRIMARY KEY (run_id, suite, row_set, decoding, step)
);
CREATE INDEX run_results_by_suite ON run_results (suite, run_id, step DESC);
COMMENT ON TABLE run_results IS 'Kept by triggers of benchmark_results and held_out_results, so that a release before this one keeps it right as well.';
COMMENT ON COLUMN run_results.suite IS 'The name of the results: the suite''s or one of their own; "held-out rows" for those that a run holds out of its own dataset.';
COMMENT ON COLUMN run_results.of_suite IS 'The suite itself.';
COMMENT ON COLUMN run_results.shares IS 'Mean over members of the share of right answers, by row.';
COMMENT ON COLUMN run_results.reference IS 'pass@1 of the base or, where it was not measured on these rows so, of the run''s first measurement.';
COMMENT ON COLUMN run_results.reference_step IS 'The step of that first measurement; none for the base.';

CREATE FUNCTION row_set_of(dataset uuid, first_row integer, count integer) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(string_agg(md5(row::text), '' ORDER BY index), 'UTF8')), 'hex')
    FROM dataset_rows WHERE dataset_id = dataset AND index >= first_row AND index < first_row + count
$$;

CREATE FUNCTION shares_of(samples integer[], correct integer[]) RETURNS double precision[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(CASE WHEN n > 0 THEN c::double precision / n ELSE 0 END ORDER BY place)
    FROM unnest(samples, correct) WITH ORDINALITY AS each (n, c, place)
$$;

-- The interval of Agresti and Min (2005) of the mean of value - reference, as lyceum_core::verdict::Comparison has it.
CREATE FUNCTION paired_interval(value double precision[], reference double precision[])
RETURNS TABLE (low double precision, high double precision) LANGUAGE sql IMMUTABLE AS $$
    SELECT greatest(mean - reach, -1), least(mean + reach, 1)
    FROM (SELECT sum(v - r) / (count(*) + 2) AS mean, (sum((v - r) ^ 2) + 1) / (count(*) + 2) AS squares, count(*) + 2 AS padded
          FROM unnest(value, reference) AS each (v, r)) sums,
        LATERAL (SELECT 1.959963984540054 * sqrt((squares - mean ^ 2) / padded) AS reach) reaches
    WHERE cardinality(value) = cardinality(reference)
$$;

CREATE FUNCTION identify_result() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.rows <> OLD.rows THEN
        -- Nobody knows any more which rows a deleted dataset had: results of one run were measured on the same ones.
        NEW.row_set := coalesce(row_set_of(NEW.dataset_id, 0, NEW.rows),
            concat_ws('/', 'deleted', coalesce(NEW.run_id, NEW.evaluation_id), NEW.rows));
    END IF;
    NEW.decoding := md5(jsonb_build_array(NEW.n, NEW.protocol -> 'prompts', NEW.protocol -> 'prompts_sha256',
        NEW.protocol -> 'chat_template_sha256', NEW.protocol -> 'temperature', NEW.protocol -> 'top_p',
        NEW.protocol -> 'max_tokens', NEW.protocol -> 'plain_notation')::text);
    RETURN NEW;
END $$;

-- Compares the results of one run, on one row set with one decoding, with the base's or with the run's first one. `since`:
-- the step whose result is new; those with a reference that stays are left alone.
CREATE FUNCTION renew_references(run uuid, named text, rows_asked text, asked_so text, since integer)
RETURNS void LANGUAGE sql AS $$
    UPDATE run_results r SET reference = f.pass_at_1, reference_step = f.step,
        (difference_low, difference_high) = (SELECT low, high FROM paired_interval(r.shares, f.shares))
    FROM (SELECT * FROM (
              SELECT 0 AS preference, seq, NULL::integer AS step, pass_at_1, shares_of(samples, correct) AS shares
              FROM benchmark_results b
              WHERE role = 'base' AND suite = named AND row_set = rows_asked AND decoding = asked_so
                  AND base_model = (SELECT max(base_model) FROM run_results
                      WHERE run_id = run AND suite = named AND row_set = rows_asked AND decoding = asked_so)
                  -- The run's own measurement of it, else the first that anybody made.
                  AND seq = (SELECT seq FROM benchmark_results o
                      WHERE o.role = 'base' AND o.suite = b.suite AND o.row_set = b.row_set AND o.decoding = b.decoding
                          AND o.base_model = b.base_model ORDER BY (o.run_id = run) IS TRUE DESC, seq LIMIT 1)
              UNION ALL
              (SELECT 1, 0, nullif(step, 0), pass_at_1, shares FROM run_results
               WHERE run_id = run AND suite = named AND row_set = rows_asked AND decoding = asked_so ORDER BY step LIMIT 1)
          ) found ORDER BY preference LIMIT 1) f
    WHERE r.run_id = run AND r.suite = named AND r.row_set = rows_asked AND r.decoding = asked_so
        AND cardinality(r.shares) = cardinality(f.shares)
        AND (f.preference = 0 OR r.step > coalesce(f.step, 0))
        AND (r.step = since OR r.reference IS NULL OR r.reference_step >= since)
$$;

CREATE FUNCTION renew_run_result(run uuid, named text, rows_asked text, asked_so text, at_step integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- Results of a run that is being deleted go with it.
    IF at_step IS NULL OR NOT EXISTS (SELECT FROM runs WHERE id = run) THEN
        RETURN;
    END IF;
    -- Of two evaluations that end at once, the second sees what the first wrote.
    PERFORM pg_advisory_xact_lock(hashtextextended('run_results', 0));
    DELETE FROM run_results
    WHERE run_id = run AND suite = named AND row_set = rows_asked AND decoding = asked_so AND step = at_step;
    INSERT INTO run_results (run_id, suite, row_set, decoding, step, of_suite, base_model, temperature, n, rows, members, shares,
        pass_at_1, standard_error)
    WITH newest AS (
        SELECT DISTINCT ON (member_id) coalesce(protocol ->> 'suite', suite) AS of_suite, base_model,
            coalesce((protocol ->> 'temperature')::double precision, 0) AS temperature, n, rows,
            shares_of(samples, correct) AS shares
        FROM benchmark_results
        WHERE run_id = run AND suite = named AND row_set = rows_asked AND decoding = asked_so AND step = at_step
            AND role IN ('student', 'member')
        ORDER BY member_id, seq DESC
    ), own AS (
        SELECT * FROM newest
        UNION ALL
        SELECT named, coalesce(p.base_model ->> 'name', ''), NULL, h.n, cardinality(h.correct),
            shares_of(array_fill(h.n, ARRAY[cardinality(h.correct)]), h.correct)
        FROM held_out_results h JOIN members m ON m.id = h.member_id JOIN populations p ON p.id = m.population_id
        WHERE named = 'held-out rows' AND h.run_id = run AND h.step = at_step
            AND cardinality(h.correct) > 0
    ), by_row AS (
        SELECT place, avg(share) AS share FROM own, unnest(shares) WITH ORDINALITY AS each (share, place) GROUP BY place
    )
    SELECT run, named, rows_asked, asked_so, at_step, a.of_suite, a.base_model, a.temperature, a.n, a.rows, a.members, m.shares,
        m.pass_at_1, m.standard_error
    FROM (SELECT max(of_suite) AS of_suite, max(base_model) AS base_model, max(temperature) AS temperature, max(n) AS n,
              max(rows) AS rows, count(*) AS members FROM own) a,
        (SELECT array_agg(share ORDER BY place) AS shares, avg(share) AS pass_at_1,
             coalesce(stddev_samp(share), 0) / sqrt(count(*)) AS standard_error FROM by_row) m
    WHERE a.members > 0;
    PERFORM renew_references(run, named, rows_asked, asked_so, at_step);
END $$;

-- Compares members with their base.
CREATE FUNCTION renew_difference(result bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE benchmark_results r SET reference = b.pass_at_1,
        (difference_low, difference_high) = (SELECT low, high
            FROM paired_interval(shares_of(r.samples, r.correct), shares_of(b.samples, b.correct)))
    FROM benchmark_results b
    WHERE r.rows = b.rows AND r.seq = result AND r.role <> 'base' AND b.seq = (SELECT seq FROM benchmark_results o
        WHERE o.role = 'base' AND o.suite = r.suite AND o.row_set = r.row_set AND o.decoding = r.decoding
            AND o.base_model = r.base_model ORDER BY (o.run_id = r.run_id) IS TRUE DESC, seq LIMIT 1)
$$;

CREATE FUNCTION note_result() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM renew_run_result(OLD.run_id, OLD.suite, OLD.row_set, OLD.decoding, OLD.step);
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' AND (OLD.row_set, OLD.decoding) <> (NEW.row_set, NEW.decoding) THEN
        PERFORM renew_run_result(OLD.run_id, OLD.suite, OLD.row_set, OLD.decoding, OLD.step);
    END IF;
    IF NEW.role <> 'base' THEN
        PERFORM renew_difference(NEW.seq);
        PERFORM renew_run_result(NEW.run_id, NEW.suite, NEW.row_set, NEW.decoding, NEW.step);
        RETURN NULL;
    END IF;
    -- Whoever waited for the base to be measured so is compared with it now.
    PERFORM renew_difference(seq) FROM benchmark_results
    WHERE suite = NEW.suite AND row_set = NEW.row_set AND decoding = NEW.decoding AND base_model = NEW.base_model
        AND role <> 'base' AND (reference IS NULL OR run_id = NEW.run_id);
    PERFORM renew_references(run_id, suite, row_set, decoding, -1) FROM (
        SELECT DISTINCT run_id, suite, row_set, decoding FROM run_results
        WHERE suite = NEW.suite AND row_set = NEW.row_set AND decoding = NEW.decoding AND base_model = NEW.base_model
            AND (reference IS NULL OR reference_step IS NOT NULL OR run_id = NEW.run_id)) waiting;
    RETURN NULL;
END $$;

-- Rows that a run holds out of its own dataset are a row set too.
CREATE FUNCTION renew_held_out_result(run uuid, at_step integer, n integer, first_row integer, count integer)
RETURNS void LANGUAGE sql AS $$
    SELECT renew_run_result(run, 'held-out rows',
        coalesce(row_set_of(CASE WHEN parameters #>> '{dataset,id}' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
            THEN (parameters #>> '{dataset,id}')::uuid END, first_row, count), concat_ws('/', 'deleted', run, count)),
        md5(jsonb_build_array(n, parameters -> 'prompts', parameters -> 'sampling',
            parameters #> '{held_out,temperature}')::text),
        at_step)
    FROM (SELECT config -> 'parameters' AS parameters FROM executions WHERE id = run) e
$$;

CREATE FUNCTION note_held_out_result() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM renew_held_out_result(NEW.run_id, NEW.step, NEW.n, NEW.first_row, cardinality(NEW.correct));
    RETURN NULL;
END $$;

UPDATE benchmark_results SET
    row_set = coalesce(row_set_of(dataset_id, 0, rows), concat_ws('/', 'deleted', coalesce(run_id, evaluation_id), rows)),
    decoding = md5(jsonb_build_array(n, protocol -> 'prompts', protocol -> 'prompts_sha256', protocol -> 'chat_template_sha256',
        protocol -> 'temperature', protocol -> 'top_p', protocol -> 'max_tokens', protocol -> 'plain_notation')::text);
ALTER TABLE benchmark_results ALTER COLUMN row_set SET NOT NULL, ALTER COLUMN decoding SET NOT NULL;
CREATE INDEX benchmark_results_of_bases ON benchmark_results (suite, row_set, decoding, base_model, seq) WHERE role = 'base';
CREATE INDEX benchmark_results_by_rows ON benchmark_results (suite, row_set, decoding, run_id, step);

CREATE TRIGGER results_identified BEFORE INSERT OR UPDATE OF protocol, n, rows ON benchmark_results
    FOR EACH ROW EXECUTE FUNCTION identify_result();
CREATE TRIGGER results_noted AFTER INSERT OR DELETE OR UPDATE OF protocol, n, rows, samples, correct, pass_at_1 ON benchmark_results
    FOR EACH ROW EXECUTE FUNCTION note_result();
CREATE TRIGGER held_out_results_noted AFTER INSERT ON held_out_results
    FOR EACH ROW EXECUTE FUNCTION note_held_out_result();

-- What was measured before this release: rows were the first ones of their suites.
SELECT renew_difference(seq) FROM benchmark_results WHERE role <> 'base';
SELECT renew_run_result(run_id, suite, row_set, decoding, step)
FROM (SELECT DISTINCT run_id, suite, row_set, decoding, step FROM benchmark_results WHERE role IN ('student', 'member')) measured;
SELECT renew_held_out_result(run_id, step, n, first_row, count)
FROM (SELECT DISTINCT run_id, step, n, first_row, cardinality(correct) AS count FROM held_out_results) measured;

-- A run, and those from which it was forked; `before`: the step at which it left them.
CREATE FUNCTION past_of(run uuid) RETURNS TABLE (run_id uuid, before integer) LANGUAGE sql STABLE AS $$
    WITH RECURSIVE past (run_id, before) AS (
        SELECT run, NULL::integer
        UNION ALL
        SELECT r.forked_from, least(past.before, r.forked_at_step)
        FROM past JOIN runs r ON r.id = past.run_id WHERE r.forked_from IS NOT NULL
    )
    SELECT * FROM past
$$;
