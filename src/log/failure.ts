/**
 * Logs an error, with the names of the statements of D1 that failed. Messages of D1 name tables and columns, and a value only in a syntax
 * error of FTS5, whose terms are in quotes here. Queries do not run through drizzle, whose errors contain bound parameters.
 *
 * @param where more fields of the line.
 */
export function logFailure(where: object, error: unknown): void {
  const { name, message, stack, statements }: Error & { statements?: string } =
    error instanceof Error ? error : new Error(String(error));
  console.error(JSON.stringify({ level: "error", ...where, name, message, statements, stack }));
}
