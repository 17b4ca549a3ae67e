/** Builds a value on first use, so that a cold start does not pay for values that the isolate never uses. */
export function lazy<T>(build: () => T): () => T {
  let built: { value: T } | undefined;
  return () => (built ??= { value: build() }).value;
}
