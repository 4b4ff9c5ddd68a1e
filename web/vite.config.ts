import tailwindcss from "@tailwindcss/vite";
import { defineConfig } from "vite";
import { VitePWA } from "vite-plugin-pwa";
import { catalogue } from "./catalogue.mjs";

const here = import.meta.dirname;
const server = "http://127.0.0.1:8080";
const doors = ["/session", "/sessions", "/sdp", "/audio", "/events", "/ready", "/ice-config", "/v1", "/api", "/tasks", "/approvals", "/status", "/health", "/worklets.js"];

export default defineConfig({
  base: "./", // also behind a proxy that puts a path in front
  plugins: [tailwindcss(), catalogue(), reach()],
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

/** What makes an app of the page: its manifest, and its service worker (`src/sw.ts`) with the list
 * of what it keeps. The icons are in `public/`, made by `icons.mjs`. */
function reach() {
  return VitePWA({
    strategies: "injectManifest",
    srcDir: "src",
    filename: "sw.ts",
    injectRegister: null, // the page does it: `src/reach/reach.ts`
    minify: true,
    manifest: {
      id: "./",
      name: "Vivavoce",
      short_name: "Vivavoce",
      description: "Talk to your tools.",
      start_url: "./",
      scope: "./",
      display: "standalone",
      theme_color: "#4b3a8c",
      background_color: "#fbf9f5",
      categories: ["productivity", "utilities"],
      icons: [
        { src: "icon-192.png", sizes: "192x192", type: "image/png" },
        { src: "icon-512.png", sizes: "512x512", type: "image/png" },
        { src: "icon-maskable-512.png", sizes: "512x512", type: "image/png", purpose: "maskable" },
      ],
    },
    includeManifestIcons: false, // the system asks for them itself
    injectManifest: {
      minify: true,
      rollupFormat: "iife",
      sourcemap: false,
      globPatterns: ["index.html", "assets/*.{js,css,svg,woff2}"],
      // The server has the page at the folder's own address.
      manifestTransforms: [
        (entries) => ({
          manifest: entries.map((one) => (one.url === "index.html" ? { ...one, url: "./" } : one)),
          warnings: [],
        }),
      ],
    },
  });
}
