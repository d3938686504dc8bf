/**
 * The root that the CA makes for itself, on disk. The key is written first and never changes: a process that finds a key without a
 * certificate makes one for it, and a renewed root verifies the certificates that the old one signed.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createFile, replaceFile } from "@flotilla/auth";
import {
  certificatePem,
  generatePrivateKey,
  issueRoot,
  type KeyAlgorithm,
  parseCertificatePem,
  parsePrivateKey,
  privateKeyPem,
  renewRoot,
} from "@flotilla/pki";
import type { MaterialFiles } from "./material.ts";

export interface SelfSignedOptions {
  readonly directory: string;
  readonly keyType: KeyAlgorithm;
  readonly ttlMs: number;
  /** The organization in the root's name. */
  readonly trustDomain: string;
}

const skewMs = 120_000;

/** Made at first use; of several processes that do so at once, all use what the first one wrote. */
export async function openSelfSigned(options: SelfSignedOptions, nowMs: number): Promise<MaterialFiles> {
  const { directory, keyType } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const files = filesIn(directory);
  let keyPem = await readIfThere(files.key);
  if (keyPem === undefined) {
    await createFile(files.key, await newKey(keyType), 0o600);
    keyPem = await readFile(files.key, "utf8");
  }
  let rootPem = await readIfThere(files.certificate);
  if (rootPem === undefined) {
    await createFile(files.certificate, makeRoot(keyPem, options, nowMs), 0o644);
    rootPem = await readFile(files.certificate, "utf8");
  }
  return { keyPem, certificatePem: rootPem, rootsPem: rootPem, origin: "self-signed" };
}

/** Undefined when there is none. */
export async function readSelfSigned(directory: string): Promise<MaterialFiles | undefined> {
  const files = filesIn(directory);
  const [keyPem, rootPem] = [await readIfThere(files.key), await readIfThere(files.certificate)];
  if (keyPem === undefined || rootPem === undefined) return undefined;
  return { keyPem, certificatePem: rootPem, rootsPem: rootPem, origin: "self-signed" };
}

/** True in the last `gracePercent` of the root's life. */
export function isRenewalDue(
  certificate: { notBeforeMs: number; notAfterMs: number },
  gracePercent: number,
  nowMs: number,
): boolean {
  const { notBeforeMs, notAfterMs } = certificate;
  return nowMs >= notAfterMs - ((notAfterMs - notBeforeMs) * gracePercent) / 100;
}

/** A new root for the same key and name. Looks at the disk first: another replica may have been faster. */
export async function renewSelfSigned(
  options: SelfSignedOptions,
  gracePercent: number,
  nowMs: number,
): Promise<MaterialFiles> {
  const found = await openSelfSigned(options, nowMs);
  if (!isRenewalDue(parseCertificatePem(found.certificatePem), gracePercent, nowMs)) return found;
  const renewed = renewedRoot(found, options.ttlMs, nowMs);
  await replaceFile(filesIn(options.directory).certificate, renewed, 0o644);
  return { ...found, certificatePem: renewed, rootsPem: renewed };
}

export async function newKey(keyType: KeyAlgorithm): Promise<string> {
  return privateKeyPem(await generatePrivateKey(keyType));
}

/** The certificate again, for the same key and name. */
export function renewedRoot(
  { keyPem, certificatePem: pem }: Pick<MaterialFiles, "keyPem" | "certificatePem">,
  ttlMs: number,
  nowMs: number,
): string {
  const times = { notBeforeMs: nowMs - skewMs, notAfterMs: nowMs + ttlMs };
  const root = parseCertificatePem(pem);
  return certificatePem(renewRoot(root, parsePrivateKey(keyPem), { serial: randomBytes(16), ...times }));
}

export function makeRoot(
  keyPem: string,
  { ttlMs, trustDomain }: Pick<SelfSignedOptions, "ttlMs" | "trustDomain">,
  nowMs: number,
): string {
  const root = issueRoot(
    {
      serial: randomBytes(16),
      // The name of a root is for people; X.509 allows 64 characters.
      subject: { organization: trustDomain.slice(0, 64) },
      notBeforeMs: nowMs - skewMs,
      notAfterMs: nowMs + ttlMs,
    },
    parsePrivateKey(keyPem),
  );
  return certificatePem(root);
}

function filesIn(directory: string) {
  return { key: join(directory, "ca-key.pem"), certificate: join(directory, "ca-cert.pem") };
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return undefined;
    throw error;
  }
}
