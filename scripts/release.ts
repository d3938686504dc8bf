/**
 * `release.ts [--out DIR] [--without-executables]` makes everything that a release of one version has; the same commit gives the same bytes.
 * `release.ts --set-version X.Y.Z` writes the version wherever it stands. Needs GNU tar; the executable of
 * another platform needs the registry of npm, for its Node.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { documentOf, nodeComponents } from "./bundle/base-sbom.ts";
import { bundleRelease } from "./bundle/release.ts";
import { writeArchive } from "./release/archive.ts";
import { changelog, readNotes } from "./release/changelog.ts";
import { buildExecutable, platforms } from "./release/executable.ts";
import { setVersion, versionForm, versionProblems } from "./release/versions.ts";

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    out: { type: "string", default: "release" },
    "set-version": { type: "string" },
    "without-executables": { type: "boolean", default: false },
  },
});
const files = git("ls-files").split("\n");

if (values["set-version"] !== undefined) writeVersion(values["set-version"]);
else await release(resolve(values.out));

function writeVersion(next: string): void {
  if (!versionForm.test(next)) fail(`--set-version ${next}: not a version such as 1.2.3 or 1.2.3-rc.1`);
  for (const file of setVersion(root, files, next)) process.stdout.write(`${file}\n`);
}

async function release(out: string): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8")) as {
    readonly version: string;
  };
  const problems = versionProblems(root, files, version);
  if (problems.length > 0) fail(`${problems.join("\n")}\nrelease.ts --set-version ${version} writes it everywhere`);
  const changed = git("status", "--porcelain");
  if (changed !== "") fail(`a release is made of a commit, and these files differ from it:\n${changed}`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), "flotilla-release-"));
  try {
    const bundled = join(work, "bundle");
    await bundleRelease(bundled);
    writeFileSync(join(out, "CHANGELOG.md"), changelog(version, readNotes(join(root, "changes"))));
    writeFileSync(join(out, "sbom.node.cyclonedx.json"), documentOf(nodeComponents(process.versions)));
    for (const name of ["sbom.cyclonedx.json", "THIRD_PARTY_LICENSES"]) cpSync(join(bundled, name), join(out, name));
    writeSources(out, version);
    execFileSync("npm", ["pack", "--silent", "--pack-destination", out], { cwd: join(root, "packages/cli") });
    for (const platform of values["without-executables"] ? [] : platforms)
      buildExecutable({ root, bundle: bundled, platform, out: join(out, `flotilla-${version}-${platform}`) });
    writeSums(out);
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** Files that are built or applied elsewhere: the context of the image, the chart, the manifests with the kinds that they need. */
function writeSources(out: string, version: string): void {
  const below = (...directories: readonly string[]) =>
    files.filter((file) => directories.some((directory) => file === directory || file.startsWith(`${directory}/`)));
  const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
  // Of the checkout; those with --from come from other stages.
  const copied = [...dockerfile.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, sources = ""]) => sources.split(" "));
  const common = { cwd: root };
  const image = `flotilla-${version}-image`;
  const context = below("Dockerfile", ".dockerignore", ...copied);
  writeArchive({ ...common, files: context, out: join(out, `${image}.tar.gz`), prefix: image });
  const chart = { files: below("k8s/chart"), out: join(out, `flotilla-${version}-chart.tgz`) };
  writeArchive({ ...common, ...chart, prefix: "flotilla", strip: "k8s/chart/" });
  const manifests = `flotilla-${version}-manifests`;
  const applied = below("k8s/base", "k8s/components", "k8s/overlays", "k8s/observability", "packages/kinds/crds");
  writeArchive({ ...common, files: applied, out: join(out, `${manifests}.tar.gz`), prefix: manifests });
}

/** For `sha256sum --check`. */
function writeSums(out: string): void {
  const lines = readdirSync(out)
    .sort()
    .map(
      (name) =>
        `${createHash("sha256")
          .update(readFileSync(join(out, name)))
          .digest("hex")}  ${name}\n`,
    );
  writeFileSync(join(out, "SHA256SUMS"), lines.join(""));
  process.stdout.write(lines.join(""));
}

function git(...args: readonly string[]): string {
  return execFileSync("git", [...args], { cwd: root, encoding: "utf8" }).trim();
}

function fail(text: string): never {
  process.stderr.write(`release.ts: ${text}\n`);
  process.exit(1);
}
