/**
 * Bundles programs of the workspace with what they import into JavaScript that runs without `node_modules`. The layout of the
 * workspace stays: `services/ca/bin/main.ts` becomes `services/ca/bin/main.js`, shared code lies in `chunks/`, and files that code
 * reads beside itself keep their paths. Equal sources give equal bytes.
 */
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type OutputFile } from "esbuild";
import { licencesOf } from "./licences.ts";
import { ownFiles, rootPlaceholder } from "./own-files.ts";
import { sbomOf } from "./sbom.ts";

export interface BundleOptions {
  /** Below the project, ending in `.ts`. */
  readonly entries: readonly string[];
  /** Emptied first. */
  readonly outDirectory: string;
}

export const projectRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** CommonJS packages ask for Node's modules by `require`, which an ES module does not have. */
const requireBanner =
  'import { createRequire as createRequireOfBundle } from "node:module";const require = createRequireOfBundle(import.meta.url);';

export async function bundle({ entries, outDirectory }: BundleOptions): Promise<void> {
  const files = ownFiles(projectRoot);
  const { outputFiles, metafile } = await build({
    absWorkingDir: projectRoot,
    entryPoints: entries.map((entry) => ({ in: join(projectRoot, entry), out: entry.replace(/\.ts$/, "") })),
    outdir: outDirectory,
    entryNames: "[dir]/[name]",
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    target: "node24",
    charset: "utf8",
    legalComments: "none",
    banner: { js: requireBanner },
    plugins: [files.plugin],
  });
  await rm(outDirectory, { recursive: true, force: true });
  await Promise.all(outputFiles.map((output) => write(output, outDirectory)));
  for (const path of files.used) await cp(join(projectRoot, path), join(outDirectory, path), { recursive: true });
  await writeFile(join(outDirectory, "package.json"), '{"type":"module"}\n');
  const inputs = Object.keys(metafile.inputs);
  await writeFile(join(outDirectory, "THIRD_PARTY_LICENSES"), await licencesOf(projectRoot, inputs));
  await writeFile(join(outDirectory, "sbom.cyclonedx.json"), await sbomOf(projectRoot, inputs));
  for (const name of ["LICENSE", "NOTICE"]) await cp(join(projectRoot, name), join(outDirectory, name));
}

async function write({ path, text }: OutputFile, outDirectory: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const toRoot = relative(dirname(path), outDirectory);
  await writeFile(path, text.replaceAll(rootPlaceholder, toRoot === "" ? "." : toRoot));
}
