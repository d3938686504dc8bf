/**
 * An unmodified pilot-agent with an Envoy of ours, as a workload outside of Kubernetes: it asks for its certificate with a
 * token, hands it to Envoy and passes Envoy's xDS on, all through one discovery address.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, copyFileSync, openSync, readFileSync, renameSync, unwatchFile, watchFile } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@flotilla/proto";
import { until } from "@flotilla/runtime";
import { type EnvoyNode, envoyBootstrap } from "./bootstrap.ts";

export interface PilotAgentOptions {
  readonly binary: string;
  readonly envoy: string;
  /** The agent's working directory, where it expects and leaves its files; a short path, since sockets stand in it. */
  readonly directory: string;
  readonly node: EnvoyNode;
  /** `host:port` with TLS. */
  readonly discoveryAddress: string;
  /** Name in the certificate there. */
  readonly discoveryName: string;
  /** The agent's copy follows it, as that of a ConfigMap in a pod does. */
  readonly rootFile: string;
  readonly token: string;
  /** Of its certificates, which are renewed in the middle; Go's form, such as `30s`. */
  readonly certificateTtl: string;
  readonly adminPort: number;
  readonly statusPort: number;
  /** It subscribes to the roots that the mesh trusts (PCDS), and renews its certificate when they change. */
  readonly followsRoots?: boolean;
  /** Its Envoy asks for the state of the world, and the agent with it. */
  readonly stateOfTheWorld?: boolean;
}

export interface PilotAgent extends AsyncDisposable {
  readonly adminUrl: string;
  readonly logFile: string;
  log(): string;
  /** @throws when it does not serve within the time */
  ready(withinMs: number): Promise<void>;
}

/** Arguments, environment and token file of an agent whose files are in place. */
export interface PreparedAgent extends Disposable {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** It is read again for each renewal of the certificate. */
  readonly tokenFile: string;
}

/** Writes the agent's files; its copy of the roots follows until it is disposed of. */
export async function preparePilotAgent(options: Omit<PilotAgentOptions, "binary">): Promise<PreparedAgent> {
  const { directory, node, rootFile, token } = options;
  const secrets = join(directory, "var/run/secrets");
  const configPath = join(directory, "etc/istio/proxy");
  for (const place of [configPath, join(secrets, "tokens"), join(secrets, "istio")])
    await mkdir(place, { recursive: true });
  const tokenFile = join(secrets, "tokens/istio-token");
  await writeFile(tokenFile, token, { mode: 0o600 });
  const unmount = mountRoot(rootFile, join(secrets, "istio/root-cert.pem"));
  const templateFile = join(directory, "bootstrap.json.tmpl");
  await writeFile(templateFile, bootstrapTemplate(options, configPath));
  const domain = `${node.namespace}.svc.cluster.local`;
  const args = ["proxy", node.type ?? "sidecar", "--domain", domain, "--templateFile", templateFile];
  return {
    args: [...args, "--proxyLogLevel", "warning"],
    env: environmentOf(options, configPath),
    tokenFile,
    [Symbol.dispose]: unmount,
  };
}

export async function startPilotAgent(options: PilotAgentOptions): Promise<PilotAgent> {
  const { binary, directory, node, adminPort, statusPort } = options;
  const { args, env, [Symbol.dispose]: unmount } = await preparePilotAgent(options);
  const logFile = join(directory, "pilot-agent.log");
  const log = openSync(logFile, "w");
  const child = spawn(binary, args, { cwd: directory, env, stdio: ["ignore", log, log] });
  closeSync(log);
  child.on("error", () => undefined);
  const read = () => readFileSync(logFile, "utf8");
  return {
    adminUrl: `http://127.0.0.1:${adminPort}`,
    logFile,
    log: read,
    ready: async (withinMs) => {
      const isReady = async () => {
        if (child.exitCode !== null || child.pid === undefined)
          throw new Error(`[DATAPLANE_AGENT] ${binary} as ${node.name} ended: ${read().slice(-2000)}`);
        return fetch(`http://127.0.0.1:${statusPort}/healthz/ready`).then(
          ({ status }) => status === 200,
          () => false,
        );
      };
      await until(isReady, { withinMs, what: `pilot-agent ${node.name} to be ready (log: ${logFile})`, everyMs: 100 });
    },
    [Symbol.asyncDispose]: () => {
      unmount();
      return stop(child);
    },
  };
}

const mountIntervalMs = 500;

/** Replaces the copy whole, as a kubelet does; ends with the function that it gives. */
function mountRoot(rootFile: string, target: string): () => void {
  const copy = (): void => {
    copyFileSync(rootFile, `${target}.new`);
    renameSync(`${target}.new`, target);
  };
  copy();
  const onChange = ({ size }: { readonly size: number }): void => {
    if (size > 0) copy();
  };
  watchFile(rootFile, { interval: mountIntervalMs, persistent: false }, onChange);
  return () => unwatchFile(rootFile, onChange);
}

/** The agent fills in the node by template variables, the rest is as for any Envoy. */
function bootstrapTemplate(
  { node, directory, adminPort, stateOfTheWorld = false }: Omit<PilotAgentOptions, "binary">,
  configPath: string,
): string {
  const bootstrap: JsonObject = envoyBootstrap({
    node,
    discoveryAddress: `unix:${join(configPath, "XDS")}`,
    delta: !stateOfTheWorld,
    secretSocket: join(directory, "var/run/secrets/workload-spiffe-uds/socket"),
    adminPort,
  });
  const metadata = "@metadata@";
  const known = { id: "{{ .nodeID }}", cluster: "{{ .cluster }}", metadata };
  return JSON.stringify({ ...bootstrap, node: known }, undefined, 1).replace(`"${metadata}"`, "{{ .meta_json_str }}");
}

function environmentOf(
  options: Omit<PilotAgentOptions, "binary">,
  configPath: string,
): Readonly<Record<string, string>> {
  const { envoy, node, discoveryAddress, discoveryName, certificateTtl, adminPort, statusPort } = options;
  const drain = { terminationDrainDuration: "1s", drainDuration: "1s" };
  const ports = { proxyAdminPort: adminPort, statusPort };
  return {
    POD_NAME: node.name,
    POD_NAMESPACE: node.namespace,
    INSTANCE_IP: node.address,
    SERVICE_ACCOUNT: node.serviceAccount,
    TRUST_DOMAIN: "cluster.local",
    ISTIO_META_CLUSTER_ID: "Kubernetes",
    ISTIO_META_MESH_ID: "cluster.local",
    ISTIO_META_INTERCEPTION_MODE: node.interception ?? "NONE",
    ISTIO_META_WORKLOAD_NAME: node.name,
    ISTIO_METAJSON_LABELS: JSON.stringify(node.labels),
    ISTIOD_SAN: discoveryName,
    SECRET_TTL: certificateTtl,
    SECRET_GRACE_PERIOD_RATIO: "0.5",
    ...(options.followsRoots === true && { PROXY_CONFIG_XDS_AGENT: "true" }),
    PROXY_CONFIG: JSON.stringify({
      ...{ discoveryAddress, binaryPath: envoy, configPath, concurrency: 1 },
      ...ports,
      ...drain,
    }),
  };
}

/** It ends its Envoy itself. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 8_000);
  await ended;
  clearTimeout(timer);
}
