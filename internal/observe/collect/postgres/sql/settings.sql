/* assay */
SELECT name, CASE WHEN unit IS NULL THEN setting ELSE current_setting(name) END
FROM pg_settings
WHERE name = ANY($1)
