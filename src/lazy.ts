/** Builds a value when it is first asked for, so that a cold start does not pay for what the isolate may never use. */
export function lazy<T>(build: () => T): () => T {
  let built: { value: T } | undefined;
  return () => (built ??= { value: build() }).value;
}
