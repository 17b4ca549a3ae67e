-- Starts the feed anew: every cursor expires, and each consumer takes a new copy. docs/runbook/lost-data.md says when.
-- Without a condition, SQLite empties a table of any size at once. The first row is above every earlier one, and no client sees it.
CREATE TABLE feed_end AS SELECT max(id) AS id FROM events;
DELETE FROM events;
INSERT INTO events (id, tag, type, version, data, created_at)
  SELECT id + 1, random() & 4294967295, 'feed.started', 0, '{}', strftime('%Y-%m-%dT%H:%M:%fZ', 'now') FROM feed_end;
DROP TABLE feed_end;
