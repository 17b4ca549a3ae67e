// Parts of workerd that Node.js lacks.

/** Reads at least so many bytes, unless the stream ends before. */
async function readAtLeast(this: ReadableStreamBYOBReader, least: number, view: Uint8Array) {
  let [bytes, filled] = [view, 0];
  for (;;) {
    const { done, value } = await this.read(bytes.subarray(filled));
    if (value === undefined) return { done: true, value: undefined };
    bytes = new Uint8Array(value.buffer);
    filled += value.byteLength;
    if (done || filled >= least) return { done: filled === 0, value: bytes.subarray(0, filled) };
  }
}

function toBase64(this: Uint8Array, { alphabet = "base64" } = {}): string {
  return Buffer.from(this).toString(alphabet);
}

const add = (target: object, parts: object) => {
  for (const [name, value] of Object.entries(parts)) {
    if (!(name in target)) Object.defineProperty(target, name, { value });
  }
};
add(ReadableStreamBYOBReader.prototype, { readAtLeast });
add(Uint8Array.prototype, { toBase64 });
add(Uint8Array, {
  fromBase64: (text: string, { alphabet = "base64" } = {}) => new Uint8Array(Buffer.from(text, alphabet)),
});
