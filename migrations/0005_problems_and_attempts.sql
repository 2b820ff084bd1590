-- Large tables: every list is a keyset page over (run_id, …, seq), so each filter that pages offer has its index.
CREATE TABLE problems (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY,
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    index           integer NOT NULL,
    proposer_id     uuid REFERENCES members ON DELETE CASCADE,
    version_id      uuid REFERENCES adapter_versions ON DELETE CASCADE,
    type            text NOT NULL CHECK (length(type) BETWEEN 1 AND 63),
    prompt          text NOT NULL,
    proposal        text NOT NULL,
    valid           boolean NOT NULL,
    status          text NOT NULL,
    reason          text NOT NULL,
    program         text,
    "values"        json NOT NULL,
    ast_depth       real,
    cyclomatic      real,
    loc             real,
    variables       real,
    cell            integer,
    solve_rate      real CHECK (solve_rate BETWEEN 0 AND 1),
    attempts        integer NOT NULL DEFAULT 0,
    reward          real,
    reward_parts    jsonb,
    created_at      timestamptz NOT NULL DEFAULT now(),
    search          tsvector GENERATED ALWAYS AS (to_tsvector('simple', left(coalesce(program, '') || ' ' || reason, 100000))) STORED
);
CREATE UNIQUE INDEX problems_seq ON problems (seq);
CREATE UNIQUE INDEX problems_place ON problems (run_id, step, index);
CREATE INDEX problems_by_run ON problems (run_id, seq);
CREATE INDEX problems_by_type ON problems (run_id, type, seq);
CREATE INDEX problems_by_validity ON problems (run_id, valid, seq);
CREATE INDEX problems_by_status ON problems (run_id, status, seq);
CREATE INDEX problems_by_proposer ON problems (proposer_id, seq);
CREATE INDEX problems_by_cell ON problems (run_id, cell, seq);
CREATE INDEX problems_by_solve_rate ON problems (run_id, solve_rate, seq);
CREATE INDEX problems_by_text ON problems USING gin (search);

CREATE TABLE problem_parents (
    problem_id      uuid NOT NULL REFERENCES problems ON DELETE CASCADE,
    parent_id       uuid NOT NULL REFERENCES problems ON DELETE CASCADE,
    relation        text NOT NULL CHECK (relation IN ('reference', 'goalpost', 'lemma')),
    PRIMARY KEY (problem_id, parent_id, relation)
);
CREATE INDEX problem_parents_by_parent ON problem_parents (parent_id);

CREATE TABLE attempts (
    id              uuid PRIMARY KEY,
    seq             bigint GENERATED ALWAYS AS IDENTITY,
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    problem_id      uuid NOT NULL REFERENCES problems ON DELETE CASCADE,
    member_id       uuid NOT NULL REFERENCES members ON DELETE CASCADE,
    version_id      uuid NOT NULL REFERENCES adapter_versions ON DELETE CASCADE,
    role            text NOT NULL,
    sample          integer NOT NULL,
    text            text NOT NULL,
    answer          text,
    well_formed     boolean NOT NULL,
    status          text NOT NULL,
    reason          text NOT NULL,
    correct         boolean NOT NULL,
    reward          real NOT NULL,
    reward_parts    jsonb NOT NULL,
    tokens          integer NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX attempts_seq ON attempts (seq);
CREATE INDEX attempts_by_problem ON attempts (problem_id, seq);
CREATE INDEX attempts_by_run ON attempts (run_id, seq);
CREATE INDEX attempts_by_member ON attempts (member_id, seq);

-- The archive's past: its map at any step is the last insertion of each cell up to then.
CREATE TABLE archive_insertions (
    seq             bigint GENERATED ALWAYS AS IDENTITY,
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    cell            integer NOT NULL,
    problem_id      uuid NOT NULL REFERENCES problems ON DELETE CASCADE,
    status          text NOT NULL CHECK (status IN ('new', 'improve')),
    objective       real NOT NULL,
    PRIMARY KEY (run_id, cell, problem_id)
);
CREATE UNIQUE INDEX archive_insertions_by_run ON archive_insertions (run_id, seq);
CREATE INDEX archive_insertions_by_cell ON archive_insertions (run_id, cell, seq);
