-- The teacher's mean reward over all proposals of a matchup, which its own score follows from.
ALTER TABLE matchups ADD COLUMN teacher_reward real CHECK (teacher_reward BETWEEN -1 AND 1);

-- Configs of before `matchup_score` existed say nothing of it, and the default changes: such a run keeps what its matchups
-- were decided by.
UPDATE executions e SET config = jsonb_set(config, '{parameters,matchup_score}',
    CASE WHEN EXISTS (SELECT FROM matchups m WHERE m.run_id = e.id AND m.student_score IS NOT NULL)
        THEN '"reward"'::jsonb ELSE '"solve_rate"'::jsonb END)
WHERE config ->> 'recipe' = 'populora' AND NOT config -> 'parameters' ? 'matchup_score';
