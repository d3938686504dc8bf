/**
 * Credentials that a program of a kubeconfig prints. Source: Kubernetes' client.authentication.k8s.io, v1 and v1beta1. What it gave
 * is used until it expires or the API server refuses it.
 */
import { execFile } from "node:child_process";
import { env as ownEnvironment } from "node:process";
import type { KubeCredentials } from "./credentials.ts";
import { KubeError } from "./errors.ts";

export interface ExecCredentials {
  get(): Promise<KubeCredentials>;
  /** The program is asked again: what it gave was refused. */
  forget(): void;
}

/** The fields `exec` of a user. */
export interface ExecFields {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly apiVersion: string;
  /** With `provideClusterInfo`: the cluster's own fields, as the program is told them. */
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
/** Credentials are fetched anew this long before they expire. */
const earlyMs = 10_000;

export function execCredentials(fields: ExecFields, file: string, nowMs: () => number = Date.now): ExecCredentials {
  let held: { readonly credentials: Promise<KubeCredentials>; untilMs: number } | undefined;
  return {
    get: () => {
      if (held !== undefined && nowMs() < held.untilMs) return held.credentials;
      // Several requests at once wait for one run of the program.
      const running = run(fields, file).then((printed) => {
        const expiry = Date.parse(printed.expirationTimestamp ?? "");
        fresh.untilMs = Number.isNaN(expiry) ? Number.POSITIVE_INFINITY : expiry - earlyMs;
        return credentialsOf(printed);
      });
      const fresh = { credentials: running, untilMs: Number.POSITIVE_INFINITY };
      held = fresh;
      running.catch(() => {
        if (held === fresh) held = undefined;
      });
      return running;
    },
    forget: () => {
      held = undefined;
    },
  };
}

/** @throws KubeError KUBE_CONFIG with what the program said */
async function run(fields: ExecFields, file: string): Promise<NonNullable<Printed["status"]>> {
  const { command, args, env, apiVersion, cluster } = fields;
  const spec = { interactive: false, ...(cluster && { cluster }) };
  const told = JSON.stringify({ apiVersion, kind: "ExecCredential", spec });
  const added = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  // The program's environment is ours, as with every client of Kubernetes: what it reads there is its own affair.
  const options = {
    env: { ...ownEnvironment, ...added, KUBERNETES_EXEC_INFO: told },
    timeout: programMs,
    maxBuffer: 1024 * 1024,
  };
  const wrong = (reason: string, cause?: unknown) =>
    new KubeError("KUBE_CONFIG", `${file}: the program ${command} ${reason}`, { cause });
  const text = await new Promise<string>((resolve, reject) => {
    execFile(command, [...args], options, (error, output, said) => {
      if (error === null) resolve(output);
      else reject(wrong(`failed: ${said.trim().slice(0, 200) || error.message}`, error));
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
