// Builds the packages, each on the ones before it, and packs them for npm: dist/vivavoce-*.tgz.

import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const web = fileURLToPath(new URL("..", import.meta.url));
const PACKAGES = ["conductor", "client", "react", "element"];

function run(command, ...words) {
  execFileSync(command, words, { cwd: web, stdio: "inherit" });
}

for (const name of PACKAGES) {
  rmSync(`${web}packages/${name}/dist`, { recursive: true, force: true });
  run("npx", "--no-install", "tsc", "-p", `packages/${name}/tsconfig.build.json`);
}
run(process.execPath, "parts.mjs", `${web}packages/element/dist`);
mkdirSync(`${web}../dist`, { recursive: true });
run("npm", "pack", ...PACKAGES.map((name) => `./packages/${name}`), "--pack-destination", "../dist");
