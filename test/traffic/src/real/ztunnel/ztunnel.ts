/** A real ztunnel for the one workload of its pod (dedicated mode); ZTUNNEL_BIN names the binary. */
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "@flotilla/runtime";
import type { Pod } from "./pods.ts";

export interface ZtunnelOptions {
  readonly binary: string;
  readonly pod: Pod;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly network?: string;
  readonly token: string;
  /** `host:port` of the secure port as the pod reaches it. */
  readonly discoveryAddress: string;
  readonly rootFile: string;
  /** Of its log and its token. */
  readonly directory: string;
}

/** The resources that a ztunnel has been sent, as its admin page shows them. */
export interface ConfigDump {
  readonly workloads: readonly {
    readonly uid: string;
    readonly protocol: string;
    readonly authorizationPolicies?: readonly string[];
  }[];
  readonly services: readonly { readonly hostname: string; readonly vips: readonly string[] }[];
  readonly policies: readonly { readonly name: string; readonly namespace: string }[];
  readonly certificates: readonly { readonly identity: string; readonly state: string }[];
}

export interface Ztunnel extends AsyncDisposable {
  dump(): Promise<ConfigDump>;
  /** Sum of the samples of a metric whose labels match. */
  metric(name: string, labels?: RegExp): Promise<number>;
  log(): string;
}

const readyWithinMs = 60_000;

/** Ready when it resolves: it has the configuration and its certificate. @throws with its log when it ends before */
export async function startZtunnel(options: ZtunnelOptions): Promise<Ztunnel> {
  const { binary, pod, directory, token } = options;
  mkdirSync(directory, { recursive: true });
  // The whole file is sent as the token: no newline at its end.
  writeFileSync(join(directory, "token"), token, { mode: 0o600 });
  const logFile = join(directory, "ztunnel.log");
  const log = openSync(logFile, "a");
  const child = pod.spawnProxy(binary, ["proxy", "ztunnel"], { env: environmentOf(options), log });
  closeSync(log);
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const read = () => readFileSync(logFile, "utf8");
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`ztunnel of ${pod.name} ended: ${read().slice(-2_000)}`);
    return fetch(`http://${pod.address}:15021/healthz/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  const ztunnel: Ztunnel = {
    dump: async () => JSON.parse(await pod.call("127.0.0.1", 15000, "/config_dump")) as ConfigDump,
    metric: async (name, labels = /(?:)/) => {
      const text = await (await fetch(`http://${pod.address}:15020/metrics`)).text();
      const samples = text.split("\n").filter((line) => line.startsWith(`${name}{`) && labels.test(line));
      return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
    },
    log: read,
    [Symbol.asyncDispose]: async () => {
      // It would drain for seconds.
      child.kill("SIGKILL");
      await exited;
    },
  };
  try {
    await until(isReady, { withinMs: readyWithinMs, what: `ztunnel of ${pod.name} to be ready`, everyMs: 50 });
  } catch (error) {
    await ztunnel[Symbol.asyncDispose]();
    throw new Error(`ztunnel of ${pod.name}: ${read().slice(-2_000)}`, { cause: error });
  }
  return ztunnel;
}

function environmentOf(options: ZtunnelOptions): Readonly<Record<string, string>> {
  const { pod, namespace, serviceAccount, network, discoveryAddress, rootFile, directory } = options;
  const address = `https://${discoveryAddress}`;
  const name = "istiod.istio-system.svc";
  return {
    PATH: process.env["PATH"] ?? "",
    RUST_LOG: "info",
    AUTHZ_POLICY_INFO_LOGGING: "true",
    ...{ PROXY_MODE: "dedicated", PROXY_WORKLOAD_INFO: `${namespace}/${pod.name}/${serviceAccount}` },
    // Answers would need marks and routes of their own.
    ENABLE_ORIG_SRC: "false",
    ...{ XDS_ADDRESS: address, ALT_XDS_HOSTNAME: name, XDS_ROOT_CA: rootFile },
    ...{ CA_ADDRESS: address, ALT_CA_HOSTNAME: name, CA_ROOT_CA: rootFile },
    AUTH_TOKEN: join(directory, "token"),
    ...{ INSTANCE_IP: pod.address, POD_NAME: pod.name, POD_NAMESPACE: namespace, SERVICE_ACCOUNT: serviceAccount },
    ...{ CLUSTER_ID: "Kubernetes", ISTIO_META_CLUSTER_ID: "Kubernetes" },
    ...(network !== undefined && { NETWORK: network }),
  };
}
