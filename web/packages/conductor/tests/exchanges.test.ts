// The shared exchanges, played to the client in TypeScript; tests/conductor plays the same.
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { describe, test } from "vitest";

import { Play, type Exchange } from "./play.js";

const FILE = "../../../../docs/conductor/conformance/exchanges.json";
const exchanges = JSON.parse(
  readFileSync(fileURLToPath(new URL(FILE, import.meta.url)), "utf-8"),
) as Exchange[];

describe("the client keeps to the exchange", () => {
  test.each(exchanges)("$name", async ({ app = {}, steps }) => {
    await new Play(app, mkdtempSync(join(tmpdir(), "conductor-"))).play(steps);
  });
});
