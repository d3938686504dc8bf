/**
 * Files that the containers of docker-compose.yml need before they start, each made once, in the volume of its readers: the key that
 * Secrets are sealed with, the password of xds-server at Redis, and the list by which the command line finds the services.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { replaceFile } from "@flotilla/auth";

/** Health ports by service; each has a container of its name. */
const healthPorts: Readonly<Record<string, number>> = {
  ca: 15026,
  "config-controller": 15024,
  "service-controller": 15025,
  "xds-server": 15014,
  webhook: 15027,
  console: 15030,
};
/** From where volumes of earlier versions have secrets, which all containers see, to the volume of those who need them. */
const moves: readonly (readonly [string, string])[] = [
  ["state/seal.key", "seal/seal.key"],
  ["state/issuer/key.pem", "issuer/key.pem"],
  ["state/webhook/mesh.json", "webhook/mesh.json"],
  ["state/webhook/serving.json", "webhook/serving.json"],
];

/** @param directory has a directory for each volume */
export async function fillVolumes(directory: string): Promise<void> {
  const at = (path: string): string => join(directory, path);
  for (const service of ["ca", "config-controller", "issuer", "webhook"])
    await mkdir(at(`state/${service}`), { recursive: true, mode: 0o700 });
  for (const [from, to] of moves) {
    if (await hasContent(at(from))) await makeOnce(at(to), await readFile(at(from)));
    await rm(at(from), { force: true });
  }
  await makeOnce(at("seal/seal.key"), randomBytes(32));
  await makeOnce(at("redis-passwords/xds-server"), `${randomBytes(32).toString("hex")}\n`);
  // Each is the first process of its container.
  const services = Object.entries(healthPorts).map(([name, port]) => {
    return { name, replica: name, healthUrl: `http://${name}:${port}`, pid: 1, restarts: 0 };
  });
  await replaceFile(at("state/flotilla.json"), `${JSON.stringify({ pid: 1, services })}\n`, 0o600);
}

async function makeOnce(path: string, content: string | Uint8Array): Promise<void> {
  if (await hasContent(path)) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, content, 0o600);
}

async function hasContent(path: string): Promise<boolean> {
  return await stat(path).then(
    ({ size }) => size > 0,
    () => false,
  );
}
