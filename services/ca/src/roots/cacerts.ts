/** A directory with plugged-in signing material, in either of its two layouts, as it is mounted from a Secret. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { CaError } from "../errors.ts";
import type { MaterialFiles } from "./material.ts";

const ownNames = {
  certificate: "ca-cert.pem",
  key: "ca-key.pem",
  roots: "root-cert.pem",
  chain: "cert-chain.pem",
  crl: "ca-crl.pem",
};
/** Keys of a Secret of type kubernetes.io/tls, as cert-manager writes them; the chain follows the certificate. */
const tlsNames = { certificate: "tls.crt", key: "tls.key", roots: "ca.crt", chain: undefined, crl: "ca.crl" };

/** Beside a root that a control plane made itself and stored in the Secret `cacerts`. */
export const generatedMark = "istio-generated";

/** `ignoresGenerated`: such a root is no plugged-in one. */
export interface CacertsOptions {
  readonly ignoresGenerated?: boolean;
}

/** Undefined if the directory holds no signing key. @throws CaError CA_BAD_MATERIAL if a file is missing beside it. */
export async function readCacerts(
  directory: string,
  { ignoresGenerated = false }: CacertsOptions = {},
): Promise<MaterialFiles | undefined> {
  if (ignoresGenerated && (await readIfThere(join(directory, generatedMark))) !== undefined) return undefined;
  for (const names of [ownNames, tlsNames]) {
    const keyPem = await readIfThere(join(directory, names.key));
    if (keyPem === undefined) continue;
    const chainPem = names.chain === undefined ? undefined : await readIfThere(join(directory, names.chain));
    const crlPem = await readIfThere(join(directory, names.crl));
    return {
      keyPem,
      certificatePem: await readNeeded(join(directory, names.certificate)),
      rootsPem: await readNeeded(join(directory, names.roots)),
      origin: "plugged-in",
      ...(chainPem !== undefined && { chainPem }),
      ...(crlPem !== undefined && { crlPem }),
    };
  }
  return undefined;
}

/** Changes whenever a file of the material does: cheaper than reading them each time. */
export async function cacertsVersion(directory: string): Promise<string> {
  // Nine looks fewer each second where nothing is plugged in.
  if ((await identityOf(directory)) === "") return "";
  const names = [...Object.values(ownNames), ...Object.values(tlsNames)].filter((name) => name !== undefined);
  const parts = await Promise.all(names.map(async (name) => `${name} ${await identityOf(join(directory, name))}`));
  return parts.join("\n");
}

/** Empty where there is none. */
async function identityOf(path: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch (error) {
    if (isMissing(error)) return "";
    throw error;
  }
}

async function readNeeded(file: string): Promise<string> {
  const text = await readIfThere(file);
  if (text === undefined) throw new CaError("CA_BAD_MATERIAL", `${file} is missing`);
  return text;
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === "ENOENT" || code === "ENOTDIR";
}
