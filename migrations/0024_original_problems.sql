-- A problem may ask for one input or output of another one's program (GASP).
ALTER TABLE problem_parents DROP CONSTRAINT problem_parents_relation_check;
ALTER TABLE problem_parents ADD CONSTRAINT problem_parents_relation_check
    CHECK (relation IN ('reference', 'goalpost', 'lemma', 'original'));
