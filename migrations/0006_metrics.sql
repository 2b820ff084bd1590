-- One row a step and member, null for the run, with values in the order of executions.metrics.
CREATE TABLE metrics (
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    member_id       uuid REFERENCES members ON DELETE CASCADE,
    "values"        double precision[] NOT NULL
);
CREATE UNIQUE INDEX metrics_place ON metrics (run_id, member_id, step) NULLS NOT DISTINCT;

-- Downsampled for charts: level n holds mean, minimum and maximum over 4^n steps, written when a bucket is complete.
CREATE TABLE metric_levels (
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    level           smallint NOT NULL CHECK (level BETWEEN 1 AND 8),
    bucket          integer NOT NULL,
    member_id       uuid REFERENCES members ON DELETE CASCADE,
    mean            double precision[] NOT NULL,
    min             double precision[] NOT NULL,
    max             double precision[] NOT NULL
);
CREATE UNIQUE INDEX metric_levels_place ON metric_levels (run_id, member_id, level, bucket) NULLS NOT DISTINCT;
