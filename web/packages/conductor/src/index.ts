/** A client of the Vivavoce conductor, for browsers: over the platform's `WebSocket`. */

import { BaseClient, type Options } from "./client.js";
import { dialWebSocket } from "./line.js";
import { platform } from "./platform.js";

export * from "./public.js";

export class Client extends BaseClient {
  constructor(url: string, options: Options = {}) {
    super(url, options, platform(dialWebSocket));
  }
}
