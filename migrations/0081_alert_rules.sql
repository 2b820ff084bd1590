-- Rules of one's own: an alert is raised when the mean of a metric over a run's last steps is beyond a bound, once until it no
-- longer is. Alerts are acknowledged by somebody.
CREATE TABLE alert_rules (
    id          uuid PRIMARY KEY,
    seq         bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    run_id      uuid REFERENCES runs ON DELETE CASCADE,
    tag         text CHECK (length(tag) BETWEEN 1 AND 200),
    metric      text NOT NULL,
    comparison  text NOT NULL CHECK (comparison IN ('above', 'at_least', 'below', 'at_most')),
    value       double precision NOT NULL CHECK (value NOT IN ('NaN', 'Infinity', '-Infinity')),
    steps       integer NOT NULL CHECK (steps BETWEEN 1 AND 10000),
    created_by  text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    CHECK ((run_id IS NULL) <> (tag IS NULL))
);
CREATE INDEX alert_rules_by_run ON alert_rules (run_id);

CREATE TABLE alert_rule_states (
    rule_id  uuid NOT NULL REFERENCES alert_rules ON DELETE CASCADE,
    run_id   uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step     integer NOT NULL,
    holds    boolean NOT NULL,
    PRIMARY KEY (rule_id, run_id)
);
CREATE INDEX alert_rule_states_by_run ON alert_rule_states (run_id);
COMMENT ON COLUMN alert_rule_states.step IS 'The number of finished steps when the run was last looked at.';

ALTER TABLE alerts DROP CONSTRAINT alerts_kind_check;
ALTER TABLE alerts ADD CONSTRAINT alerts_kind_check
    CHECK (kind IN ('failed', 'stalled', 'completed', 'collapsing', 'metric', 'worker_lost', 'test'));
ALTER TABLE alerts ADD COLUMN acknowledged_at timestamptz;
ALTER TABLE alerts ADD COLUMN acknowledged_by text;
ALTER TABLE alerts ADD CHECK ((acknowledged_at IS NULL) = (acknowledged_by IS NULL));
