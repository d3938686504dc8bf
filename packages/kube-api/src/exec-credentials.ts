/**
 * Credentials that a program of a kubeconfig prints. Source: Kubernetes' client.authentication.k8s.io, v1 and v1beta1.
 */
import { execFile } from "node:child_process";
import { env as ownEnvironment } from "node:process";
import type { KubeCredentials } from "./credentials.ts";
import { type RenewedCredentials, renewedCredentials } from "./credentials.ts";
import { KubeError } from "./errors.ts";

/** The fields `exec` of a user. */
export interface ExecFields {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly apiVersion: string;
  /** With `provideClusterInfo`: the cluster's own fields, as they are passed to the program. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined;
}

interface Printed {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

const programMs = 30_000;
/** Credentials from the program that a kubeconfig names; it runs again when they expire or are refused. */
export function execCredentials(fields: ExecFields, file: string, nowMs?: () => number): RenewedCredentials {
  return renewedCredentials(async () => {
    const printed = await run(fields, file);
    const expiryMs = Date.parse(printed.expirationTimestamp ?? "");
    return { credentials: credentialsOf(printed), expiryMs: Number.isNaN(expiryMs) ? undefined : expiryMs };
  }, nowMs);
}

/** @throws KubeError KUBE_CONFIG with the program's error output */
async function run(fields: ExecFields, file: string): Promise<NonNullable<Printed["status"]>> {
  const { command, args, env, apiVersion, cluster } = fields;
  const spec = { interactive: false, ...(cluster && { cluster }) };
  const execInfo = JSON.stringify({ apiVersion, kind: "ExecCredential", spec });
  const added = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  // The program inherits the environment, as with every client of Kubernetes.
  const options = {
    env: { ...ownEnvironment, ...added, KUBERNETES_EXEC_INFO: execInfo },
    timeout: programMs,
    maxBuffer: 1024 * 1024,
  };
  const wrong = (reason: string, cause?: unknown) =>
    new KubeError("KUBE_CONFIG", `${file}: the program ${command} ${reason}`, { cause });
  const text = await new Promise<string>((resolve, reject) => {
    execFile(command, [...args], options, (error, output, stderr) => {
      if (error === null) resolve(output);
      else reject(wrong(`failed: ${stderr.trim().slice(0, 200) || error.message}`, error));
    });
  });
  let printed: Printed;
  try {
    printed = JSON.parse(text) as Printed;
  } catch (cause) {
    throw wrong("printed no JSON", cause);
  }
  const { kind, status } = printed;
  if (kind !== "ExecCredential" || printed.apiVersion !== apiVersion)
    throw wrong(`printed ${printed.apiVersion}/${kind}, not ${apiVersion}/ExecCredential`);
  if (status?.token === undefined && status?.clientCertificateData === undefined)
    throw wrong("printed neither a token nor a certificate");
  return status;
}

function credentialsOf({
  token,
  clientCertificateData,
  clientKeyData,
}: NonNullable<Printed["status"]>): KubeCredentials {
  return {
    ...(token !== undefined && { token }),
    ...(clientCertificateData !== undefined && { cert: clientCertificateData }),
    ...(clientKeyData !== undefined && { key: clientKeyData }),
  };
}
