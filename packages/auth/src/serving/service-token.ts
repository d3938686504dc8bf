/** What one of our own services proves itself to ca with, before it has a certificate. */
import { readFile } from "node:fs/promises";
import { openLocalIssuer } from "../local-issuer.ts";

export interface ServiceTokenOptions {
  readonly tokenFile: string | undefined;
  readonly workDir: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** From a file (in Kubernetes, a projected token), else from the local issuer. */
export async function serviceToken(options: ServiceTokenOptions): Promise<string> {
  const { tokenFile, workDir, namespace, serviceAccount } = options;
  if (tokenFile !== undefined) return (await readFile(tokenFile, "utf8")).trim();
  const issuer = await openLocalIssuer(workDir);
  return issuer.mintToken({ namespace, serviceAccount });
}
