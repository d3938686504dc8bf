/**
 * Keeps `import.meta.url` and `import.meta.resolve` true in a bundle: code goes on to find the files beside it, which are copied to
 * the same paths below the bundle's root.
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import type { Plugin } from "esbuild";

/** Stands for the way from an output to the root of the bundle until the outputs are written. */
export const rootPlaceholder = "@@bundle-root@@";

export interface OwnFiles {
  readonly plugin: Plugin;
  /** Files and directories that the code reads, below the project. */
  readonly used: ReadonlySet<string>;
}

export function ownFiles(projectRoot: string): OwnFiles {
  const used = new Set<string>();
  const use = (path: string): void => {
    // A build without samples bundles the rest.
    if (existsSync(join(projectRoot, path))) used.add(path);
  };
  const plugin: Plugin = {
    name: "own-files",
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        if (path.includes("node_modules")) return undefined;
        const source = await readFile(path, "utf8");
        if (!source.includes("import.meta.")) return undefined;
        const place = relative(projectRoot, path);
        // Programs are entries of the bundle.
        for (const [, text = ""] of source.matchAll(/new URL\(\s*["'`]([^"'`]+)["'`],\s*import\.meta\.url/g))
          if (!text.endsWith(".ts")) use(join(dirname(place), text.replace(/\$\{.*/, "")).replace(/\/$/, ""));
        return { contents: rewrite(source, place, { path, projectRoot, use }), loader: "ts" };
      });
    },
  };
  return { plugin, used };
}

interface Place {
  readonly path: string;
  readonly projectRoot: string;
  readonly use: (path: string) => void;
}

function rewrite(source: string, place: string, { path, projectRoot, use }: Place): string {
  const urlOf = (target: string): string => `new URL("${rootPlaceholder}/${target}", import.meta.url).href`;
  return source
    .replaceAll(
      /new URL\(\s*([`"'][^"'`]+[`"']),\s*import\.meta\.url/g,
      (_, text: string) =>
        // Programs are JavaScript there.
        `new URL(${text.replace(/\.ts(.)$/, ".js$1")}, ${urlOf(place)}`,
    )
    .replaceAll(/import\.meta\.resolve\("([^"]+)"\)/g, (_, name: string) => {
      const target = relative(projectRoot, createRequire(path).resolve(name)).replace(/^node_modules\//, "");
      use(target);
      return urlOf(target);
    });
}
