-- Contracting: a release before this one cannot write results beside it. The server computes what results come to, with the
-- statistics that everything else has (lyceum_store::benchmarks, crates/core/src/statistics).

DROP TRIGGER results_identified ON benchmark_results;
DROP TRIGGER results_noted ON benchmark_results;
DROP TRIGGER held_out_results_noted ON held_out_results;
DROP FUNCTION identify_result(), note_result(), note_held_out_result(), row_set_of(uuid, integer, integer),
    renew_held_out_result(uuid, integer, integer, integer, integer), renew_difference(bigint),
    renew_run_result(uuid, text, text, text, integer), renew_references(uuid, text, text, text, integer),
    paired_interval(double precision[], double precision[]);
COMMENT ON TABLE run_results IS 'Written by the server when it writes benchmark_results or held_out_results.';
COMMENT ON COLUMN benchmark_results.difference_low IS 'The interval of 95 % of the difference from it, over rows.';

CREATE TABLE results_to_renew (
    run_id   uuid REFERENCES runs ON DELETE CASCADE,
    suite    text NOT NULL,
    row_set  text NOT NULL,
    decoding text NOT NULL
);
COMMENT ON TABLE results_to_renew IS 'Results that the coordinator computes again when it has time, since they were compared by other statistics or lost a measurement.';
INSERT INTO results_to_renew
SELECT run_id, suite, row_set, decoding FROM benchmark_results WHERE role <> 'base' AND reference IS NOT NULL
UNION
SELECT run_id, suite, row_set, decoding FROM run_results WHERE reference IS NOT NULL;
CREATE INDEX results_to_renew_by_run ON results_to_renew (run_id);
