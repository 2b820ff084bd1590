-- What lists over all runs, and lists by complexity, are found by. The first two have the list's order in them; the others hold
-- few different values, which Postgres stores once each, and are combined with one another.
CREATE INDEX problems_of_type ON problems (type, seq);
CREATE INDEX problems_of_status ON problems (status, seq);
CREATE INDEX problems_of_step ON problems (step);
CREATE INDEX problems_of_cell ON problems (cell);
CREATE INDEX problems_of_solve_rate ON problems (solve_rate);
CREATE INDEX problems_of_ast_depth ON problems (ast_depth);
CREATE INDEX problems_of_cyclomatic ON problems (cyclomatic);
CREATE INDEX problems_of_loc ON problems (loc);
CREATE INDEX problems_of_variables ON problems (variables);

-- Attempts of some steps of a run.
CREATE INDEX attempts_of_step ON attempts (run_id, step);
