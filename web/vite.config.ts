import { defineConfig } from "vite";

const server = "http://127.0.0.1:8080";
const doors = ["/session", "/sessions", "/sdp", "/audio", "/events", "/ready", "/ice-config", "/v1", "/api", "/tasks", "/approvals", "/worklets.js"];

export default defineConfig({
  base: "./", // also behind a proxy that puts a path in front
  build: {
    outDir: "../src/vivavoce/server/static",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content security policy allows no data: scripts
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  resolve: { alias: { "@vivavoce/client": `${import.meta.dirname}/packages/client/src/index.ts` } },
  worker: { format: "es" },
  server: {
    // `npm run dev` shows the page while you change it; a real server answers behind it.
    proxy: Object.fromEntries(doors.map((door) => [door, { target: server, ws: true }])),
  },
});
