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

/** The statements that fill an empty database with examples. */
export const SEED = [SEED_CATEGORIES, SEED_ANIMALS];
