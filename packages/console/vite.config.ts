/** The page's build: every byte lies in the bundle, and nothing is inlined, so that `default-src 'self'` holds without exceptions. */
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  logLevel: "warn",
  publicDir: false,
  build: {
    outDir: "dist/page",
    target: "es2023",
    // Data URLs would need `img-src data:`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The list of files that are loaded at the start, for scripts/check-page-size.ts.
    manifest: "manifest.json",
    emptyOutDir: true,
    license: { fileName: "licences.md" },
  },
  worker: { format: "es" },
});
