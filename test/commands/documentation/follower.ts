import type { Databases } from "../cloudflare/databases.ts";
import { askService } from "../cloudflare/service.ts";

/** A program that keeps a copy of the animals of a fake database. */
export class Follower {
  /** The animals of the copy, as the service returned them. */
  copy: string[] = [];
  #cursor = "latest";
  readonly #databases: Databases;
  readonly #name: string;

  constructor(databases: Databases, name: string) {
    this.#databases = databases;
    this.#name = name;
  }

  /** Takes the end of the feed, then a copy. */
  async takeCopy(): Promise<void> {
    this.#cursor = "latest";
    await this.goOn();
    const response = await this.#get("pets");
    const animals = await response.text();
    this.copy = animals.match(/\{[^}]+\}/g) ?? [];
  }

  /** Reads the feed from its place on. Returns the status, and the code of an error. */
  async goOn(): Promise<{ status: number; code?: string }> {
    const response = await this.#get(`events?cursor=${this.#cursor}`);
    const { cursor, code } = (await response.json()) as { cursor?: string; code?: string };
    this.#cursor = cursor ?? this.#cursor;
    return { status: response.status, ...(code !== undefined && { code }) };
  }

  #get(path: string): Promise<Response> {
    return askService(this.#databases, this.#name, { path: `/v1/${path}`, tables: ["pets", "events"] });
  }
}
