import { gunzipSync, gzipSync } from "node:zlib";

/** Bytes of JSON. A few hundred kilobytes of gzip could hold any number. */
export const MOST_BYTES = 2 ** 28;

/** JSON in gzip. The compression is light, because it is soon read again. */
export const zip = (value: object): Buffer => gzipSync(JSON.stringify(value), { level: 1 });

/** @throws Error when it is damaged, and when it has more than `MOST_BYTES`. */
export const unzip = (bytes: Buffer): unknown =>
  JSON.parse(gunzipSync(bytes, { maxOutputLength: MOST_BYTES }).toString());
