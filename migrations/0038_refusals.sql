-- Why a server cannot plan an execution that another release began. Written again every minute while it cannot, so that an old
-- one says nothing; a server that can plan the execution need not know of it.
CREATE TABLE refusals (
    execution_id    uuid PRIMARY KEY REFERENCES executions ON DELETE CASCADE,
    release         text NOT NULL,
    reason          text NOT NULL,
    at              timestamptz NOT NULL DEFAULT now()
);
