/**
 * The single executable: Node with the bundle of the command line and the services inside (Node's SEA). The script in it unpacks the bundle
 * when it runs for the first time (decision 0258). Equal bundles and Nodes give equal bytes.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

/** Where executables are made for: macOS runs signed ones only, which needs a Mac. */
export const platforms = ["linux-x64", "linux-arm64"] as const;
export type Platform = (typeof platforms)[number];

export interface ExecutableOptions {
  /** Of the whole repository; its node_modules has the Node that builds. */
  readonly root: string;
  /** A bundle of scripts/bundle. */
  readonly bundle: string;
  readonly platform: Platform;
  /** The file to write. */
  readonly out: string;
}

/** Puts the blob into Node; below the workspace. */
const postject = "node_modules/postject/dist/cli.js";
/** As Node's documentation names it; Node finds its blob by it. */
const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/** @throws Error of the program that failed, with its output */
export function buildExecutable({ root, bundle, platform, out }: ExecutableOptions): void {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-sea-"));
  try {
    const { digest, packed } = packBundle(bundle);
    writeFileSync(join(directory, "bundle"), packed);
    writeFileSync(join(directory, "digest"), digest);
    const main = "sea-main.cjs";
    copyFileSync(join(root, "scripts/release", main), join(directory, main));
    const config = {
      // Relative, as Node writes it into the executable: a clone at another path gives the same bytes.
      main,
      output: join(directory, "blob"),
      disableExperimentalSEAWarning: true,
      // For the platform that builds only; the bundle is compiled where it runs.
      useCodeCache: false,
      useSnapshot: false,
      assets: { bundle: join(directory, "bundle"), digest: join(directory, "digest") },
    };
    writeFileSync(join(directory, "sea.json"), JSON.stringify(config));
    run(process.execPath, ["--experimental-sea-config", "sea.json"], directory);
    copyFileSync(nodeOf(root, platform, directory), out);
    chmodSync(out, 0o755);
    const inject = [join(root, postject), resolve(out), "NODE_SEA_BLOB", config.output, "--sentinel-fuse", fuse];
    run(process.execPath, inject, root);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The files of the bundle as one compressed text, and what they are known by. */
function packBundle(bundle: string): { readonly digest: string; readonly packed: Buffer } {
  const names = globSync("**", { cwd: bundle })
    .filter((name) => statSync(join(bundle, name)).isFile())
    .sort();
  const files = names.map((name) => [name, readFileSync(join(bundle, name)).toString("base64")] as const);
  const start = 'module.exports = (entry) => import(require("node:url").pathToFileURL(entry).href);\n';
  const text = JSON.stringify(Object.fromEntries([...files, ["start.cjs", Buffer.from(start).toString("base64")]]));
  const packed = brotliCompressSync(text, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 22 },
  });
  return { digest: createHash("sha256").update(text).digest("hex").slice(0, 32), packed };
}

/** Node of the version that the workspace is built with, from the package of that platform. */
function nodeOf(root: string, platform: Platform, directory: string): string {
  const name = `node-${platform}`;
  const installed = join(root, "node_modules", name, "bin/node");
  if (existsSync(installed)) return installed;
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly optionalDependencies: Readonly<Record<string, string>>;
  };
  const into = join(directory, name);
  mkdirSync(into);
  run("npm", ["pack", "--silent", "--pack-destination", into, `${name}@${optionalDependencies[name]}`], root);
  const [archive = ""] = globSync("*.tgz", { cwd: into });
  run("tar", ["-xzf", join(into, archive), "-C", into, "package/bin/node"], root);
  return join(into, "package/bin/node");
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (status !== 0)
    throw new Error(`${program} ${args[0]} … ended with ${status}: ${error?.message ?? ""}${stdout}${stderr}`);
}
