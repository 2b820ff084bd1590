-- Deleting a row looks for what references it, for each such column; without an index that is a scan of the whole table for each
-- deleted row.
CREATE INDEX runs_by_origin ON runs (forked_from) WHERE forked_from IS NOT NULL;
CREATE INDEX members_by_population ON members (population_id);
CREATE INDEX births_by_replaced ON births (replaces_id) WHERE replaces_id IS NOT NULL;
CREATE INDEX birth_parents_by_version ON birth_parents (version_id);
CREATE INDEX problems_by_version ON problems (version_id) WHERE version_id IS NOT NULL;
CREATE INDEX attempts_by_version ON attempts (version_id);
CREATE INDEX archive_insertions_by_problem ON archive_insertions (problem_id);
CREATE INDEX metrics_by_member ON metrics (member_id) WHERE member_id IS NOT NULL;
CREATE INDEX metric_levels_by_member ON metric_levels (member_id) WHERE member_id IS NOT NULL;
CREATE INDEX cross_play_by_student ON cross_play (student_id);
CREATE INDEX held_out_results_by_member ON held_out_results (member_id);
CREATE INDEX held_out_results_by_version ON held_out_results (version_id);
CREATE INDEX benchmark_results_by_version ON benchmark_results (version_id) WHERE version_id IS NOT NULL;
CREATE INDEX goalpost_counts_by_member ON goalpost_counts (member_id) WHERE member_id IS NOT NULL;
CREATE INDEX goalpost_counts_by_version ON goalpost_counts (version_id) WHERE version_id IS NOT NULL;
