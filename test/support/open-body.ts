/** A body that a test writes in steps. */
export function openBody() {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const write = (text: string) => writer.write(new TextEncoder().encode(text));
  return { body: readable, write, close: () => writer.close() };
}
