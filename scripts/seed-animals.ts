/** Some animals to look at, once: SQLite remembers in sqlite_sequence that a table ever had a row. One statement, so all or none. */
export const SEED_ANIMALS = `
  INSERT INTO pets (name, category_id, status)
  SELECT column1, column2, column3 FROM (VALUES
    ('Ada the Alpaca', 1, 'available'),
    ('Bruno the Beagle', 2, 'available'),
    ('Cleo the Cat', 3, 'pending'),
    ('Dot the Duck', 4, 'sold'),
    ('Émile the Eel 🐍', 9007199254740993, 'available'))
  WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'pets')`;
