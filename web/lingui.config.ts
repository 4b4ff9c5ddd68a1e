import { defineConfig } from "@lingui/conf";
import { formatter } from "@lingui/format-po";

export default defineConfig({
  sourceLocale: "en",
  locales: ["en", "de"],
  catalogs: [{ path: "src/words/catalogue/{locale}", include: ["src"] }],
  orderBy: "messageId", // so that two who add strings seldom touch the same line
  format: formatter({ lineNumbers: false, origins: false, explicitIdAsDefault: true }),
});
