-- The cross-play of a run is read from the index alone: its rows lie among those of all runs that were going at the time.
CREATE UNIQUE INDEX cross_play_sums ON cross_play (run_id, step, teacher_id, student_id, type) INCLUDE (attempts, solved);
ALTER TABLE cross_play DROP CONSTRAINT cross_play_pkey;
ALTER TABLE cross_play ADD CONSTRAINT cross_play_pkey PRIMARY KEY USING INDEX cross_play_sums;
