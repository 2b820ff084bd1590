-- What decided a matchup: the student's score, which is compared with the predicted win probability. Matchups of before
-- were decided by the solve rate.
ALTER TABLE matchups ADD COLUMN student_score real CHECK (student_score BETWEEN 0 AND 1);
