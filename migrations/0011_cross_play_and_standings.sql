-- What the views of a population sum over attempts and ratings, kept as those are written.

-- Attempts of a student at a teacher's problems in a step, by type, and those that solved.
CREATE TABLE cross_play (
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    step            integer NOT NULL,
    teacher_id      uuid NOT NULL REFERENCES members ON DELETE CASCADE,
    student_id      uuid NOT NULL REFERENCES members ON DELETE CASCADE,
    type            text NOT NULL,
    attempts        bigint NOT NULL,
    solved          bigint NOT NULL CHECK (solved BETWEEN 0 AND attempts),
    PRIMARY KEY (run_id, step, teacher_id, student_id, type)
);

-- The newest rating of every member in every role.
CREATE TABLE standings (
    member_id       uuid NOT NULL REFERENCES members ON DELETE CASCADE,
    role            text NOT NULL,
    run_id          uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    seq             bigint NOT NULL,
    step            integer NOT NULL,
    mu              double precision NOT NULL,
    sigma           double precision NOT NULL CHECK (sigma > 0),
    lower_bound     real NOT NULL GENERATED ALWAYS AS ((mu - 3 * sigma)::real) STORED,
    PRIMARY KEY (member_id, role)
);
CREATE INDEX standings_by_bound ON standings (role, lower_bound, seq);
CREATE INDEX standings_by_run ON standings (run_id, role);
COMMENT ON COLUMN standings.seq IS 'The member''s, so that members with equal bounds have an order.';

-- How many of a step's problems were solved how often, read from the index alone.
CREATE INDEX problems_by_step ON problems (run_id, step) INCLUDE (solve_rate, attempts) WHERE solve_rate IS NOT NULL;

INSERT INTO cross_play (run_id, step, teacher_id, student_id, type, attempts, solved)
SELECT a.run_id, a.step, p.proposer_id, a.member_id, p.type, count(*), count(*) FILTER (WHERE a.correct)
FROM attempts a JOIN problems p ON p.id = a.problem_id WHERE p.proposer_id IS NOT NULL
GROUP BY a.run_id, a.step, p.proposer_id, a.member_id, p.type;

INSERT INTO standings (member_id, role, run_id, seq, step, mu, sigma)
SELECT DISTINCT ON (r.member_id, r.role) r.member_id, r.role, r.run_id, m.seq, r.step, r.mu, r.sigma
FROM ratings r JOIN members m ON m.id = r.member_id ORDER BY r.member_id, r.role, r.step DESC;
