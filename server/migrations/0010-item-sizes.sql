-- Bytes of an item as JSON: whoever refers to large ones is refused without reading them. Null for items of former versions, which are measured
-- when they are read until they expire.
alter table response_items add column size_bytes integer;
