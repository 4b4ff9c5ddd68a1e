import tailwindcss from "@tailwindcss/vite";
import { defineConfig } from "vite";
import { catalogue } from "./catalogue.mjs";

const here = import.meta.dirname;
const server = "http://127.0.0.1:8080";
const doors = ["/session", "/sessions", "/sdp", "/audio", "/events", "/ready", "/ice-config", "/v1", "/api", "/tasks", "/approvals", "/status", "/health", "/worklets.js"];

export default defineConfig({
  base: "./", // also behind a proxy that puts a path in front
  plugins: [tailwindcss(), catalogue()],
  build: {
    outDir: "../src/vivavoce/server/static",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content security policy allows no data: scripts
    modulePreload: { polyfill: false },
    target: "es2022",
    rolldownOptions: {
      // "use client" is for frameworks that draw on a server.
      onwarn: (warning, warn) => warning.code !== "MODULE_LEVEL_DIRECTIVE" && warn(warning),
    },
    cssTarget: ["chrome123", "firefox121", "safari17.5"], // those that know light-dark()
  },
  resolve: {
    alias: {
      "@vivavoce/client": `${here}/packages/client/src/index.ts`,
      "@vivavoce/react": `${here}/packages/react/src/index.tsx`,
      // Dialogs put a style element into the page with it, which the policy forbids.
      "react-style-singleton": `${here}/src/parts/style-singleton.ts`,
    },
  },
  worker: { format: "es" },
  server: {
    // `npm run dev` shows the page while you change it; a real server answers behind it.
    proxy: Object.fromEntries(doors.map((door) => [door, { target: server, ws: true }])),
  },
});
