/** Sentences about every state of the database. Each selects the ids of the rows that break it. A new table gets its lines here. */
export const INVARIANTS: { [sentence: string]: string } = {
  "No animal has two orders that are not cancelled": `SELECT pet_id AS id FROM orders WHERE status <> 'cancelled' GROUP BY pet_id HAVING count(*) > 1`,
  "The animal of a placed order is there and is pending": `SELECT id FROM orders WHERE status = 'placed'
    AND NOT EXISTS (SELECT 1 FROM pets WHERE pets.id = orders.pet_id AND pets.status = 'pending')`,
  "The animal of a shipped order is there": `SELECT id FROM orders WHERE status = 'shipped'
    AND NOT EXISTS (SELECT 1 FROM pets WHERE pets.id = orders.pet_id)`,
  "The inventory counts no more animals than were created": `SELECT id FROM inventory
    WHERE available + pending + sold > (SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'pets')`,
  "A shipped order has a date": `SELECT id FROM orders WHERE status = 'shipped' AND ship_date IS NULL`,
  "A reference is a text that is not empty": `SELECT id FROM orders
    WHERE reference IS NOT NULL AND (typeof(reference) <> 'text' OR reference = '')`,
  "A fold has what it comes from, and begins with a space. An ASCII name has none": `SELECT id FROM pets
    WHERE (folded IS NULL) <> (folded_of IS NULL) OR substr(folded, 1, 1) <> ' '
    OR (folded_of = '1' || name AND name NOT GLOB '*[^a-zA-Z0-9 ]*')`,
  "Every version is at least 1": `SELECT id FROM pets WHERE version < 1
    UNION ALL SELECT id FROM categories WHERE version < 1 UNION ALL SELECT id FROM orders WHERE version < 1`,
};
