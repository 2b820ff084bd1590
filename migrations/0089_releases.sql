-- What a release needs to know that finds a database migrated by a later one.

CREATE TABLE schema_bound (
    migration  bigint NOT NULL
);
COMMENT ON TABLE schema_bound IS 'One row: the last migration that contracts. A release that lacks it cannot use this database; one that lacks only later migrations can.';
INSERT INTO schema_bound VALUES (88);
CREATE UNIQUE INDEX schema_bound_is_one_row ON schema_bound ((true));

CREATE TABLE schema_releases (
    migration  bigint PRIMARY KEY,
    release    text NOT NULL
);
COMMENT ON TABLE schema_releases IS 'Which release first brought the schema to this migration.';
