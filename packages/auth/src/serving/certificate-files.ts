/** A certificate in files, named as in a Secret of type kubernetes.io/tls, for whoever reads files: NATS, Redis, and their clients. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../private-file.ts";
import type { TlsMaterial } from "./material.ts";

/** The key first: who reads while it is written finds a key without its certificate and tries again. */
export async function writeCertificateFiles(
  directory: string,
  { keyPem, chainPem, rootsPem }: TlsMaterial,
): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await replaceFile(join(directory, "tls.key"), keyPem, 0o600);
  await replaceFile(join(directory, "tls.crt"), chainPem, 0o644);
  await replaceFile(join(directory, "ca.crt"), rootsPem, 0o644);
}
