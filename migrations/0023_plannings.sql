-- A plan that is being made. The row is written before its planner starts and removed with the plan, so it outlives a
-- process that planning ended.
CREATE TABLE plannings (
    execution_id    uuid PRIMARY KEY REFERENCES executions ON DELETE CASCADE,
    coordinator_id  uuid NOT NULL,
    unfinished      integer NOT NULL DEFAULT 0 CHECK (unfinished >= 0),
    began_at        timestamptz NOT NULL DEFAULT now()
);
COMMENT ON COLUMN plannings.unfinished IS 'Plannings in a row before this one that ended with the process of their coordinator.';
