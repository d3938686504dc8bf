/**
 * `pnpm supply`: what the project takes from others. Licences of all installed packages against the allowed ones, hashes in the lockfile,
 * no scripts at installation; then the contents of a release (SBOM) and advisories, where there is a network. `--list` writes each package with
 * its licence, `--sbom FILE` keeps the SBOM.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { licenceProblems, lockfileProblems, type PackageLicence, sbomProblems } from "./supply/rules.ts";

const root = join(import.meta.dirname, "..");
const installed = installedPackages(join(root, "node_modules/.pnpm"));
if (process.argv.includes("--list"))
  for (const { name, version, licence } of installed) process.stdout.write(`${name} ${version} ${licence}\n`);
const problems = [
  ...licenceProblems(installed),
  ...lockfileProblems(readText("pnpm-lock.yaml"), readText("pnpm-workspace.yaml")),
];
if (installed.length < 100)
  problems.push(`only ${installed.length} packages were found: the installation is not whole`);
problems.push(...releaseContents(), ...advisories());
for (const problem of problems) process.stdout.write(`${problem}\n`);
const failed = new Set(problems).size;
process.stdout.write(`${installed.length - Math.min(installed.length, failed)} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

function readText(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

/** Each once, in order. */
function installedPackages(store: string): readonly PackageLicence[] {
  const manifests = readdirSync(store).flatMap((entry) => {
    const modules = join(store, entry, "node_modules");
    if (!existsSync(modules)) return [];
    const names = readdirSync(modules).flatMap((name) =>
      name.startsWith("@") ? readdirSync(join(modules, name)).map((inner) => join(name, inner)) : [name],
    );
    return names.map((name) => join(modules, name, "package.json")).filter((file) => existsSync(file));
  });
  const found = new Map<string, PackageLicence>();
  for (const file of manifests) {
    const { name, version, license, private: isOwn } = JSON.parse(readFileSync(file, "utf8"));
    if (isOwn !== true) found.set(`${name}@${version}`, { name, version, licence: String(license ?? "none stated") });
  }
  return [...found.keys()].sort().flatMap((key) => found.get(key) ?? []);
}

/** CycloneDX, by pnpm itself, of what a release runs with. */
function releaseContents(): readonly string[] {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-sbom-"));
  const at = process.argv.indexOf("--sbom");
  const file = at === -1 ? join(directory, "sbom.json") : resolve(process.argv[at + 1] ?? "sbom.json");
  const args = ["-y", "pnpm@12.21.0", "sbom", "--sbom-format", "cyclonedx", "--prod", "--out", file];
  try {
    const { status, stderr } = spawnSync("npx", args, { cwd: root, encoding: "utf8", timeout: 60_000 });
    if (status === null && at === -1) {
      process.stdout.write("THE SBOM WAS NOT CHECKED: pnpm made none within a minute, as without a network\n");
      return [];
    }
    if (status !== 0) return [`pnpm sbom ended with ${status}: ${stderr.slice(-500)}`];
    return sbomProblems(readFileSync(file, "utf8"));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Known faults of packages. A registry that does not answer is no failure, and no pass either. */
function advisories(): readonly string[] {
  const { stdout, status } = spawnSync("npx", ["-y", "pnpm@12.21.0", "audit", "--json"], {
    cwd: root,
    encoding: "utf8",
    timeout: 60_000,
  });
  const report = parsed(stdout ?? "");
  if (report === undefined) {
    process.stdout.write(`ADVISORIES WERE NOT CHECKED: the registry gave no answer (status ${status})\n`);
    return [];
  }
  const all = Object.values(report as Record<string, { readonly module_name: string; readonly title: string }>);
  return all.map((one) => `${one.module_name}: ${one.title}`);
}

function parsed(text: string): unknown {
  try {
    return (JSON.parse(text) as { readonly advisories?: unknown }).advisories;
  } catch {
    return undefined;
  }
}
