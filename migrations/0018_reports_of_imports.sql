-- What the import of a dataset read, and how many rows each filter left out.
ALTER TABLE datasets ADD COLUMN report jsonb;
COMMENT ON COLUMN datasets.report IS 'None for datasets that were sent as one document, and for those imported before it was kept.';
