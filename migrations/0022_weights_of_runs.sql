-- Runs keep the digest of their base's weights. Those of before were made on the seedling of their release, whose weights
-- are in models/seedling-1 since another was trained.
UPDATE populations SET base_model = base_model || '{"revision": "7859cb1e452b80d1bf64b577b86b3b3649de2760d4b70f345acca05847c7f0c5"}'
WHERE base_model ->> 'name' = 'seedling' AND NOT base_model ? 'revision';

UPDATE executions e SET config = jsonb_set(config, '{populations}', named.populations)
FROM (
    SELECT id, jsonb_object_agg(name, CASE
        WHEN population #>> '{base_model,name}' = 'seedling' AND NOT population -> 'base_model' ? 'revision'
        THEN jsonb_set(population, '{base_model,revision}',
            '"7859cb1e452b80d1bf64b577b86b3b3649de2760d4b70f345acca05847c7f0c5"')
        ELSE population END) AS populations
    FROM executions, jsonb_each(config -> 'populations') AS each (name, population)
    WHERE kind = 'run' GROUP BY id
) named WHERE named.id = e.id;
