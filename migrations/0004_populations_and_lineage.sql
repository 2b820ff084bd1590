CREATE TABLE populations (
    id              uuid PRIMARY KEY,
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    name            text NOT NULL,
    base_model      jsonb NOT NULL,
    lora            jsonb NOT NULL,
    UNIQUE (run_id, name)
);

CREATE TABLE members (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    population_id   uuid NOT NULL REFERENCES populations ON DELETE CASCADE,
    name            text NOT NULL,
    roles           text[] NOT NULL CHECK (cardinality(roles) > 0),
    born_step       integer NOT NULL,
    died_step       integer,
    cause_of_death  text,
    UNIQUE (run_id, name),
    CHECK ((died_step IS NULL) = (cause_of_death IS NULL))
);
CREATE INDEX members_by_run ON members (run_id, seq);

CREATE TABLE adapter_versions (
    id              uuid PRIMARY KEY,
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    member_id       uuid NOT NULL REFERENCES members ON DELETE CASCADE,
    ordinal         integer NOT NULL CHECK (ordinal >= 0),
    step            integer NOT NULL,
    artifact        text NOT NULL REFERENCES artifacts,
    optimizer       text REFERENCES artifacts,
    created_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (member_id, ordinal)
);
CREATE INDEX adapter_versions_by_run ON adapter_versions (run_id, step);

-- A birth can be replayed from this row to the same bytes.
CREATE TABLE births (
    child_id        uuid PRIMARY KEY REFERENCES members ON DELETE CASCADE,
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    phase           text NOT NULL,
    chunk           integer NOT NULL,
    operator        text NOT NULL,
    parameters      jsonb NOT NULL,
    seed            numeric(20) NOT NULL,
    replaces_id     uuid REFERENCES members ON DELETE CASCADE,
    notes           text[] NOT NULL DEFAULT '{}'
);
CREATE INDEX births_by_run ON births (run_id, step);

CREATE TABLE birth_parents (
    child_id        uuid NOT NULL REFERENCES births ON DELETE CASCADE,
    position        smallint NOT NULL,
    version_id      uuid NOT NULL REFERENCES adapter_versions ON DELETE CASCADE,
    PRIMARY KEY (child_id, position)
);

CREATE TABLE ratings (
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    member_id       uuid NOT NULL REFERENCES members ON DELETE CASCADE,
    role            text NOT NULL,
    mu              double precision NOT NULL,
    sigma           double precision NOT NULL CHECK (sigma > 0),
    PRIMARY KEY (run_id, step, member_id, role)
);
CREATE INDEX ratings_by_member ON ratings (member_id, role, step);

CREATE TABLE matchups (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY,
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    teacher_id      uuid NOT NULL REFERENCES members ON DELETE CASCADE,
    student_id      uuid NOT NULL REFERENCES members ON DELETE CASCADE,
    proposed        integer NOT NULL,
    valid           integer NOT NULL CHECK (valid <= proposed),
    solve_rate      real CHECK (solve_rate BETWEEN 0 AND 1),
    predicted       real NOT NULL CHECK (predicted BETWEEN 0 AND 1),
    winner          text NOT NULL CHECK (winner IN ('teacher', 'student'))
);
CREATE UNIQUE INDEX matchups_by_run ON matchups (run_id, seq);
CREATE INDEX matchups_by_teacher ON matchups (teacher_id, seq);
CREATE INDEX matchups_by_student ON matchups (student_id, seq);
