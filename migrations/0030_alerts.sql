-- Alerts: what somebody may want to know at once. Webhooks are told of them, and browsers show them.
CREATE TABLE alerts (
    id          uuid PRIMARY KEY,
    seq         bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    kind        text NOT NULL CHECK (kind IN ('failed', 'stalled', 'completed', 'collapsing', 'worker_lost', 'test')),
    subject     uuid NOT NULL,
    occurrence  text NOT NULL,
    run_id      uuid REFERENCES runs ON DELETE CASCADE,
    title       text NOT NULL,
    detail      text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (kind, subject, occurrence)
);
CREATE INDEX alerts_by_run ON alerts (run_id);
COMMENT ON COLUMN alerts.occurrence IS 'Tells one time from the next, so that several servers that look raise one alert.';

CREATE TABLE webhooks (
    id          uuid PRIMARY KEY,
    seq         bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    url         text NOT NULL CHECK (length(url) <= 2000),
    secret      text NOT NULL,
    kinds       text[] NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);
COMMENT ON COLUMN webhooks.secret IS 'Signs what is sent, so it is kept as it is.';

CREATE TABLE deliveries (
    seq           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id    uuid NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    alert_id      uuid NOT NULL REFERENCES alerts ON DELETE CASCADE,
    state         text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    tries         integer NOT NULL DEFAULT 0,
    next_try_at   timestamptz NOT NULL DEFAULT now(),
    status        integer,
    error         text,
    delivered_at  timestamptz,
    created_at    timestamptz NOT NULL DEFAULT now(),
    UNIQUE (webhook_id, alert_id)
);
CREATE INDEX deliveries_waiting ON deliveries (next_try_at) WHERE state = 'waiting';
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, seq);
CREATE INDEX deliveries_by_alert ON deliveries (alert_id);

-- Ends of runs are looked for every other second.
CREATE INDEX executions_finished ON executions (finished_at) WHERE finished_at IS NOT NULL;
