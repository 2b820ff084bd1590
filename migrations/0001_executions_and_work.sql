-- What is executed: runs and evaluations are scheduled alike, so what both have stands in one table.
CREATE TABLE executions (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY,
    kind            text NOT NULL CHECK (kind IN ('run', 'evaluation')),
    recipe          text NOT NULL CHECK (length(recipe) BETWEEN 1 AND 63),
    config          jsonb NOT NULL,
    metrics         text[] NOT NULL DEFAULT '{}',
    state           text NOT NULL CHECK (state IN ('running', 'paused', 'completed', 'failed', 'cancelled')),
    error           text,
    priority        smallint NOT NULL DEFAULT 0,
    max_concurrent  integer CHECK (max_concurrent > 0),
    max_attempts    integer NOT NULL DEFAULT 5 CHECK (max_attempts > 0),
    step            integer NOT NULL DEFAULT 0 CHECK (step >= 0),
    steps           integer NOT NULL CHECK (steps > 0),
    stage           text NOT NULL DEFAULT '',
    reproducible    boolean NOT NULL DEFAULT true,
    last_event      bigint NOT NULL DEFAULT 0,
    trace_id        text,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    finished_at     timestamptz,
    CHECK ((finished_at IS NOT NULL) = (state IN ('completed', 'failed', 'cancelled'))),
    CHECK ((error IS NOT NULL) = (state = 'failed'))
);
CREATE UNIQUE INDEX executions_seq ON executions (seq);
CREATE INDEX executions_active ON executions (id) WHERE state = 'running';
CREATE INDEX executions_kind_state ON executions (kind, state, seq);
CREATE INDEX executions_kind_recipe ON executions (kind, recipe, seq);

-- What a run remembers before each step: it resumes from the last and can be forked at any.
CREATE TABLE run_states (
    execution_id    uuid NOT NULL REFERENCES executions ON DELETE CASCADE,
    step            integer NOT NULL,
    state           json NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (execution_id, step)
);

-- One row a step, with the counts by which ends of work and plans of the step keep pace: `ended` is raised by every end
-- of an item, `planned` is the number of ends that the last plan had seen. A step is due while the first is the larger.
CREATE TABLE steps (
    execution_id    uuid NOT NULL REFERENCES executions ON DELETE CASCADE,
    step            integer NOT NULL,
    stage           text NOT NULL DEFAULT '',
    total           integer NOT NULL DEFAULT 0,
    ended           integer NOT NULL DEFAULT 0 CHECK (ended <= total),
    planned         integer NOT NULL DEFAULT -1,
    plan_seconds    double precision NOT NULL DEFAULT 0,
    started_at      timestamptz NOT NULL DEFAULT now(),
    finished_at     timestamptz,
    PRIMARY KEY (execution_id, step)
);
CREATE INDEX steps_due ON steps (execution_id) WHERE finished_at IS NULL;

CREATE TABLE workers (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    host            text NOT NULL,
    device          text NOT NULL,
    kinds           text[] NOT NULL CHECK (cardinality(kinds) > 0),
    base_models     text[] NOT NULL DEFAULT '{}',
    loaded_models   text[] NOT NULL DEFAULT '{}',
    memory_bytes    bigint NOT NULL DEFAULT 0,
    versions        jsonb NOT NULL DEFAULT '{}',
    state           text NOT NULL CHECK (state IN ('idle', 'busy', 'draining', 'stopped', 'lost')),
    started_at      timestamptz NOT NULL DEFAULT now(),
    last_seen       timestamptz NOT NULL DEFAULT now(),
    stopped_at      timestamptz,
    CHECK ((stopped_at IS NOT NULL) = (state IN ('stopped', 'lost')))
);
CREATE INDEX workers_alive ON workers (last_seen) WHERE stopped_at IS NULL;

-- The work row is the truth; the queue only carries word that there is work.
CREATE TABLE work (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY,
    execution_id    uuid NOT NULL REFERENCES executions ON DELETE CASCADE,
    step            integer NOT NULL CHECK (step >= 0),
    phase           text NOT NULL CHECK (length(phase) BETWEEN 1 AND 63),
    round           integer NOT NULL CHECK (round >= 0),
    chunk           integer NOT NULL CHECK (chunk >= 0),
    kind            text NOT NULL CHECK (kind IN ('rollout', 'verify', 'update', 'evolve', 'benchmark')),
    payload         json NOT NULL,
    base_model      text,
    memory_bytes    bigint NOT NULL DEFAULT 0,
    state           text NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'running', 'done', 'failed', 'cancelled')),
    run_at          timestamptz NOT NULL DEFAULT now(),
    attempts        integer NOT NULL DEFAULT 0,
    max_attempts    integer NOT NULL CHECK (max_attempts > 0),
    fence           bigint NOT NULL DEFAULT 0,
    worker_id       uuid REFERENCES workers,
    lease_until     timestamptz,
    progress        real CHECK (progress BETWEEN 0 AND 1),
    progress_note   text,
    progress_at     timestamptz,
    errors          jsonb NOT NULL DEFAULT '[]',
    result          json,
    number          integer,
    created_at      timestamptz NOT NULL DEFAULT now(),
    started_at      timestamptz,
    finished_at     timestamptz,
    UNIQUE (execution_id, step, phase, round, chunk),
    CHECK ((lease_until IS NOT NULL) = (state = 'running')),
    CHECK ((result IS NOT NULL) = (state = 'done')),
    CHECK ((finished_at IS NOT NULL) = (state IN ('done', 'failed', 'cancelled')))
);
CREATE UNIQUE INDEX work_seq ON work (seq);
CREATE INDEX work_ready ON work (execution_id, kind, seq) WHERE state = 'ready';
CREATE INDEX work_running ON work (lease_until) WHERE state = 'running';
CREATE UNIQUE INDEX work_ended ON work (execution_id, step, number);
COMMENT ON COLUMN work.number IS 'Which end of its step it was, from 1: given under the step''s row, so a reader who saw one has seen all before it.';
CREATE INDEX work_by_execution ON work (execution_id, seq);
CREATE INDEX work_by_state ON work (state, seq);
CREATE INDEX work_by_kind ON work (kind, seq);
CREATE INDEX work_by_worker ON work (worker_id, seq);

-- What happened, in the order in which it may be read: `number` is given under the execution's lock.
CREATE TABLE events (
    execution_id    uuid NOT NULL REFERENCES executions ON DELETE CASCADE,
    number          bigint NOT NULL,
    kind            text NOT NULL,
    data            jsonb NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (execution_id, number)
);
