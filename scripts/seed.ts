/**
 * Inserts example categories once: sqlite_sequence records that a table has ever had a row. One statement inserts all or none.
 */
const SEED_CATEGORIES = `
  INSERT INTO categories (name, description)
  SELECT column1, column2 FROM (VALUES
    ('Camelids', 'Alpacas, camels and llamas.'),
    ('Dogs', NULL),
    ('Cats', NULL),
    ('Water birds', 'Ducks, geese and swans.'))
  WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'categories')`;

/** Inserts example animals in the same way. */
const SEED_ANIMALS = `
  INSERT INTO pets (name, category_id, status)
  SELECT column1, column2, column3 FROM (VALUES
    ('Ada the Alpaca', 1, 'available'),
    ('Bruno the Beagle', 2, 'available'),
    ('Cleo the Cat', 3, 'pending'),
    ('Dot the Duck', 4, 'sold'),
    ('Émile the Eel 🐍', 9007199254740993, 'available'))
  WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'pets')`;

/** Inserts an order that holds the pending animal, unless somebody changed it. */
const SEED_ORDERS = `
  INSERT INTO orders (pet_id, status, created_at, reference)
  SELECT id, 'placed', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'cart-7F3A' FROM pets
  WHERE id = 3 AND name = 'Cleo the Cat' AND status = 'pending'
    AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'orders')`;

/** Inserts a webhook in the same way. It is disabled, so that no attempt fails while nobody listens. */
const SEED_WEBHOOKS = `
  INSERT INTO webhooks (tag, url, types, enabled, created_by, created_at, place)
  SELECT 1, 'http://localhost:8788/hooks', '["pet.created","pet.updated"]', 0, 'local',
    strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('%016x%08x', id, tag) FROM events
  WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'webhooks')
  ORDER BY id DESC LIMIT 1`;

/** The statements that fill an empty database with examples. */
export const SEED = [SEED_CATEGORIES, SEED_ANIMALS, SEED_ORDERS, SEED_WEBHOOKS];
