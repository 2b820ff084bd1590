-- Members are found by the beginning of their names.
CREATE INDEX members_by_name ON members (lower(name) text_pattern_ops);
