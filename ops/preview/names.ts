import { InvalidArgumentError } from "commander";
import { refuseOption } from "../program.ts";
import { namespaceTitle } from "../release/namespace.ts";

/** Every resource of a preview has it, and nothing without it is ever changed or deleted. */
const PREFIX = "petstore-preview-";
/** The name of a Worker on workers.dev is one label of a domain, with up to 63 characters (RFC 1035, section 2.3.4). */
const MAX_LENGTH = 63 - PREFIX.length;

export interface Preview {
  name: string;
  worker: string;
  database: string;
  /** The title of the KV namespace. */
  namespace: string;
}

/** @throws InvalidArgumentError unless the name can be part of an address. */
export function toPreview(name: string): Preview {
  refuseOption(name);
  if (!isName(name)) {
    throw new InvalidArgumentError(`A name has up to ${MAX_LENGTH} of a-z, 0-9 and -, and no - at its ends.`);
  }
  const worker = PREFIX + name;
  return { name, worker, database: worker, namespace: namespaceTitle(worker) };
}

/** @throws InvalidArgumentError */
export function toNames(list: string): string[] {
  refuseOption(list);
  return list === "" ? [] : list.split(",").map((name) => toPreview(name.trim()).name);
}

/** The preview that a Worker or a database belongs to. Undefined for all others. */
export function previewOfResource(resource: string): Preview | undefined {
  const name = resource.slice(PREFIX.length);
  return resource.startsWith(PREFIX) && isName(name) ? toPreview(name) : undefined;
}

/** The preview that a KV namespace belongs to. Undefined for all others. */
export function previewOfNamespace(title: string): Preview | undefined {
  const suffix = namespaceTitle("");
  return title.endsWith(suffix) ? previewOfResource(title.slice(0, -suffix.length)) : undefined;
}

function isName(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(name) && name.length <= MAX_LENGTH;
}
