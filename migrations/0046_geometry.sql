-- The geometry of members' updates at the births of a step: each version by itself, and each pair once.
CREATE TABLE geometry (
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    member_id       uuid NOT NULL REFERENCES members ON DELETE CASCADE,
    version_id      uuid NOT NULL REFERENCES adapter_versions ON DELETE CASCADE,
    norm            double precision NOT NULL CHECK (norm >= 0),
    effective_rank  double precision,
    PRIMARY KEY (version_id, step)
);
CREATE INDEX geometry_by_run ON geometry (run_id, step);
CREATE INDEX geometry_by_member ON geometry (member_id);

CREATE TABLE geometry_pairs (
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    first_id        uuid NOT NULL REFERENCES adapter_versions ON DELETE CASCADE,
    second_id       uuid NOT NULL REFERENCES adapter_versions ON DELETE CASCADE,
    cosine          double precision,
    distance        double precision NOT NULL CHECK (distance >= 0),
    PRIMARY KEY (first_id, second_id, step)
);
CREATE INDEX geometry_pairs_by_run ON geometry_pairs (run_id, step);
CREATE INDEX geometry_pairs_by_second ON geometry_pairs (second_id);
