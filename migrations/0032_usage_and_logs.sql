-- What workers take of their machines, and what they said while they ran an item.

-- One row a worker and minute.
CREATE TABLE worker_usage (
    worker_id       uuid NOT NULL REFERENCES workers ON DELETE CASCADE,
    minute          timestamptz NOT NULL,
    reports         integer NOT NULL CHECK (reports > 0),
    cores           real NOT NULL CHECK (cores >= 0),
    memory_bytes    bigint NOT NULL CHECK (memory_bytes >= 0),
    gpu_share       real CHECK (gpu_share BETWEEN 0 AND 1),
    gpu_memory_bytes bigint CHECK (gpu_memory_bytes >= 0),
    PRIMARY KEY (worker_id, minute)
);
CREATE INDEX worker_usage_by_minute ON worker_usage (minute);
COMMENT ON COLUMN worker_usage.cores IS 'Mean over the reports of the minute, of the processor time that the worker and the processes that it started took.';
COMMENT ON COLUMN worker_usage.memory_bytes IS 'The most of the minute, as gpu_memory_bytes.';

-- One row a try that said something.
CREATE TABLE work_logs (
    work_id         uuid NOT NULL REFERENCES work ON DELETE CASCADE,
    attempt         integer NOT NULL,
    worker_id       uuid REFERENCES workers ON DELETE SET NULL,
    lines           json NOT NULL,
    PRIMARY KEY (work_id, attempt)
);
COMMENT ON COLUMN work_logs.lines IS 'At most 200 of {at, level, text}; without those in the middle if there were more.';
