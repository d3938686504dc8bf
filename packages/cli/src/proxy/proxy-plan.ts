/** The workload that a proxy stands for, and where its control plane is: from the options of `flotilla proxy`. */
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import type { EnvoyNode } from "@flotilla/dataplane";
import { problemOfName } from "@flotilla/model";
import { defaultPorts } from "@flotilla/runtime";
import type { proxyBootstrap } from "../definitions/proxy.ts";
import { CliError } from "../errors.ts";
import { paths } from "../layout.ts";
import type { Invocation } from "../parse/definition.ts";
import { runningIn } from "../running.ts";

export type ProxyOptions = Omit<Invocation<typeof proxyBootstrap>["options"], "output" | "json">;

export interface ProxyPlan {
  readonly node: EnvoyNode;
  readonly directory: string;
  /** `host:port` with TLS, and the name in the certificate there. */
  readonly discoveryAddress: string;
  readonly discoveryName: string;
  readonly caAddress: string;
  readonly rootFile: string;
  /** Reads the token that was given, or makes one. */
  readonly token: () => Promise<string>;
  readonly tokenTtlMs: number;
  readonly tokenFile: string | undefined;
  /** Of the local issuer. */
  readonly workDir: string;
}

/** Makes the directory. @throws CliError CLI_NOT_RUNNING, CLI_USAGE */
export function planProxy(options: ProxyOptions & { readonly ca?: string | undefined }): ProxyPlan {
  const { name, namespace, serviceAccount, address, type, workDir, tokenFile, tokenTtl: ttlMs } = options;
  checkNames(options);
  const place = addressesOf(options);
  const rootFile = options.rootFile ?? paths({ workDir }).root;
  if (!existsSync(rootFile)) throw new CliError("CLI_USAGE", `there is no ${rootFile}: name one by --root-file`);
  const directory = options.out ?? join(workDir, "proxies", `${name}.${namespace}`);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const mint = async () => (await openLocalIssuer(workDir)).mintToken({ namespace, serviceAccount, ttlMs });
  return {
    node: { name, namespace, serviceAccount, address, type, labels: labelsOf(options.label) },
    directory,
    ...place,
    discoveryName: options.discoveryName,
    rootFile,
    token: tokenFile === undefined ? mint : async () => readFileSync(tokenFile, "utf8").trim(),
    ...{ tokenTtlMs: ttlMs, tokenFile, workDir },
  };
}

/** Before anything is written: wrong ones would end in a node id that no control plane takes. @throws CliError CLI_USAGE */
function checkNames({ name, namespace, serviceAccount, address }: ProxyOptions): void {
  const names = { name, namespace, "service-account": serviceAccount };
  for (const [option, value] of Object.entries(names)) {
    const problem = problemOfName(value);
    if (problem !== undefined) throw new CliError("CLI_USAGE", `--${option} ${JSON.stringify(value)} ${problem}`);
  }
  if (isIP(address) === 0) throw new CliError("CLI_USAGE", `--address ${JSON.stringify(address)} is no IP address`);
}

/** A copy beside the proxy's other files. */
export function copyRoot({ rootFile, directory }: ProxyPlan): string {
  const copy = join(directory, "root-cert.pem");
  if (copy !== rootFile) copyFileSync(rootFile, copy);
  return copy;
}

function addressesOf({
  workDir,
  url,
  discoveryAddress,
  ca,
}: ProxyOptions & { readonly ca?: string | undefined }): Pick<ProxyPlan, "discoveryAddress" | "caAddress"> {
  if (discoveryAddress !== undefined)
    // An istiod answers for certificates at the port of xDS, and so does xds-server.
    return { discoveryAddress: withPort(discoveryAddress), caAddress: withPort(ca ?? discoveryAddress) };
  const [host] = url.filter((given) => /^https?:/.test(given)).map((given) => new URL(given).hostname);
  if (host !== undefined) {
    const [xds, own] = [`${host}:${defaultPorts.xdsServer.xdsTls}`, `${host}:${defaultPorts.ca.grpc}`];
    return { discoveryAddress: xds, caAddress: ca ?? own };
  }
  const { ports } = runningIn(workDir);
  return { discoveryAddress: `127.0.0.1:${ports.xdsTls}`, caAddress: ca ?? `127.0.0.1:${ports.ca}` };
}

/** @throws CliError CLI_USAGE */
function withPort(address: string): string {
  if (/^.+:\d+$/.test(address)) return address;
  throw new CliError("CLI_USAGE", `${address} is not HOST:PORT`);
}

/** @throws CliError CLI_USAGE */
function labelsOf(given: readonly string[]): Readonly<Record<string, string>> {
  const pairs = given.map((text) => {
    const [, key, value] = /^([^=]+)=(.*)$/.exec(text) ?? [];
    if (key === undefined || value === undefined) throw new CliError("CLI_USAGE", `--label ${text} is not KEY=VALUE`);
    return [key, value] as const;
  });
  return Object.fromEntries(pairs);
}
