// What is one file each, beside the page: the audio worklets, and the element with all it needs.
// `node parts.mjs FOLDER` puts them there.

import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL(".", import.meta.url));
const [folder = "../src/vivavoce/server/static"] = process.argv.slice(2);
const PARTS = {
  worklets: "packages/client/src/audio/worklets.ts",
  element: "packages/element/src/index.ts",
};

for (const [name, entry] of Object.entries(PARTS)) {
  await build({
    root,
    configFile: false,
    logLevel: "warn",
    resolve: { alias: { "@vivavoce/client": `${root}packages/client/src/index.ts` } },
    build: {
      outDir: folder,
      emptyOutDir: false,
      copyPublicDir: false,
      modulePreload: false,
      target: "es2022",
      rolldownOptions: {
        input: `${root}${entry}`,
        preserveEntrySignatures: "strict",
        output: { entryFileNames: `${name}.js`, codeSplitting: false },
      },
    },
  });
}
