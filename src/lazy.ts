/**
 * Builds a value on first use, so that a cold start does not pay for values that the isolate never uses. It needs no request: the build of
 * the bundle builds all values, to find every statement.
 */
export function lazy<T>(build: () => T): () => T {
  let built: { value: T } | undefined;
  return () => (built ??= { value: build() }).value;
}
