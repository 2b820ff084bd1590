-- Sweeps: the runs of an experiment as they were planned, and how far they have come.
CREATE TABLE sweeps (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    experiment_id   uuid NOT NULL REFERENCES experiments ON DELETE CASCADE,
    plan            jsonb NOT NULL,
    concurrency     integer NOT NULL CHECK (concurrency BETWEEN 1 AND 64),
    budget_seconds  double precision CHECK (budget_seconds > 0),
    state           text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'paused', 'completed', 'cancelled')),
    reason          text,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    finished_at     timestamptz,
    CHECK ((finished_at IS NOT NULL) = (state IN ('completed', 'cancelled')))
);
CREATE INDEX sweeps_by_experiment ON sweeps (experiment_id, seq);
CREATE INDEX sweeps_running ON sweeps (seq) WHERE state = 'running';
COMMENT ON COLUMN sweeps.reason IS 'Why it is paused, if nobody asked for that: its budget is spent.';

CREATE TABLE sweep_runs (
    sweep_id        uuid NOT NULL REFERENCES sweeps ON DELETE CASCADE,
    ordinal         integer NOT NULL,
    arm             text NOT NULL,
    point           json NOT NULL,
    seed            numeric(20) NOT NULL,
    name            text NOT NULL,
    begun_at        timestamptz,
    run_id          uuid REFERENCES runs ON DELETE SET NULL,
    error           text,
    PRIMARY KEY (sweep_id, ordinal),
    CHECK (error IS NULL OR begun_at IS NOT NULL)
);
CREATE INDEX sweep_runs_planned ON sweep_runs (sweep_id, ordinal) WHERE begun_at IS NULL;
CREATE INDEX sweep_runs_by_run ON sweep_runs (run_id);
COMMENT ON COLUMN sweep_runs.run_id IS 'None before it has begun, if it could not begin (error), or once the run was deleted.';
