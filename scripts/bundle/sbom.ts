/**
 * The parts of a bundle, as CycloneDX (https://cyclonedx.org): the packages whose code is in it, with versions and licences. It has no time
 * and no serial number, so that equal bundles have equal ones.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageDirectories } from "./licences.ts";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** `inputs`: files of the bundle, below the project. */
export async function sbomOf(projectRoot: string, inputs: readonly string[]): Promise<string> {
  const own = await manifestOf(join(projectRoot, "packages/cli"));
  const directories = packageDirectories(inputs);
  const manifests = await Promise.all(directories.map((directory) => manifestOf(join(projectRoot, directory))));
  const hashOf = integrities(await readFile(join(projectRoot, "pnpm-lock.yaml"), "utf8"));
  const components = new Map(manifests.map((manifest) => [purlOf(manifest), manifest]));
  const document = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { ...componentOf(own), type: "application" } },
    components: [...components.keys()].sort().flatMap((purl) => {
      const manifest = components.get(purl);
      return manifest === undefined
        ? []
        : [{ ...componentOf(manifest), type: "library", ...distribution(hashOf(manifest)) }];
    }),
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** SHA-512 of the package of a version, in hexadecimal, as the lock file has it. */
function integrities(lockfile: string): (manifest: Manifest) => string | undefined {
  const rows = lockfile.matchAll(/^ {2}'?([^\s'][^\n']*)'?:\n {4}resolution: \{integrity: sha512-([A-Za-z0-9+/=]+)/gm);
  const hashes = new Map([...rows].map(([, name = "", hash = ""]) => [name, hash]));
  return ({ name, version }) => {
    const hash = hashes.get(`${name}@${version}`);
    return hash === undefined ? undefined : Buffer.from(hash, "base64").toString("hex");
  };
}

function distribution(content: string | undefined) {
  if (content === undefined) return {};
  const url = "https://registry.npmjs.org/";
  return { externalReferences: [{ type: "distribution", url, hashes: [{ alg: "SHA-512", content }] }] };
}

async function manifestOf(directory: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(directory, "package.json"), "utf8")) as Manifest;
}

function componentOf(manifest: Manifest) {
  const { name, version, license } = manifest;
  const purl = purlOf(manifest);
  return { "bom-ref": purl, name, version, purl, ...(license && { licenses: [{ expression: license }] }) };
}

function purlOf({ name, version }: Manifest): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}
