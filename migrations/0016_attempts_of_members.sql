-- The steps in which a member attempted problems.
CREATE INDEX attempts_of_member ON attempts (member_id, step);
