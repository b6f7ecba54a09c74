/* assay */
-- ALLOWED stands for whether this user may change the setting of its own session.
SELECT name, setting, context = 'user' OR ALLOWED
FROM pg_settings
WHERE name = ANY($1)
