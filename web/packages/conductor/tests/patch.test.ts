// JSON Patch by the shared cases; the client in Python passes the same.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { describe, expect, test } from "vitest";

import { applied, PatchFailed } from "../src/patch.js";

interface Case {
  name: string;
  document: unknown;
  patch: unknown;
  result?: unknown;
}

const FILE = "../../../../docs/conductor/conformance/patches.json";
const cases = JSON.parse(
  readFileSync(fileURLToPath(new URL(FILE, import.meta.url)), "utf-8"),
) as Case[];

describe("a patch makes what the RFC says, or nothing", () => {
  test.each(cases)("$name", (each) => {
    const document = structuredClone(each.document);
    if ("result" in each) expect(applied(document, each.patch)).toEqual(each.result);
    else expect(() => applied(document, each.patch)).toThrow(PatchFailed);
    expect(document).toEqual(each.document);
  });
});
