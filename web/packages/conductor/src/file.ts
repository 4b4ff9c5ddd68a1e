/** A memory in a small file, for Node. */

import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";

import { MOST_CALLS, type Entry, type Memory } from "./calls.js";
import { lineOf, linesOf, newest } from "./lines.js";

/** One file may serve several sessions, of one app at a time. */
export class FileMemory implements Memory {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async load(sessionId: string): Promise<readonly Entry[]> {
    let text = "";
    try {
      text = await readFile(this.#path, "utf-8");
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== "ENOENT") throw fault;
    }
    const lines = linesOf(text);
    const kept = newest(lines, MOST_CALLS);
    if (lines.length > 2 * MOST_CALLS) await this.#writeAnew(kept.map(lineOf).join(""));
    else if (text !== "" && !text.endsWith("\n")) await this.#append("\n"); // it was cut off
    return kept.filter((line) => line.session === sessionId).map((line) => line.entry);
  }

  async keep(session: string, entry: Entry): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true });
    await this.#append(lineOf({ session, entry }));
  }

  async #append(text: string): Promise<void> {
    await written(this.#path, "a", text);
  }

  async #writeAnew(text: string): Promise<void> {
    await written(`${this.#path}.new`, "w", text);
    await rename(`${this.#path}.new`, this.#path);
  }
}

async function written(path: string, flags: string, text: string): Promise<void> {
  const file = await open(path, flags);
  try {
    await file.appendFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
