/** A client of the Vivavoce conductor, for Node: with headers, and a memory in a file. */

import { BaseClient, type Options } from "./client.js";
import { platform } from "./platform.js";
import { dialNode } from "./socket.js";

export * from "./public.js";
export { FileMemory } from "./file.js";

export class Client extends BaseClient {
  constructor(url: string, options: Options = {}) {
    super(url, options, platform(dialNode));
  }
}
