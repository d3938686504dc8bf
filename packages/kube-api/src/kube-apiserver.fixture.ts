/**
 * For tests: a real kube-apiserver with its etcd, found by kube-assets.ts. Undefined where there is none, which fails when CI is true: the
 * caller skips, loudly.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { openSync } from "node:fs";
import { access, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@flotilla/runtime";
import { freePort } from "@flotilla/servers";
import { type KubeApi, openKubeApi } from "./kube-api.ts";
import { kubeAsset } from "./kube-assets.ts";
import { loadKubeConfig } from "./kube-config.ts";

export interface RunningApiserver extends AsyncDisposable {
  readonly kubeconfig: string;
  readonly api: KubeApi;
  /** Ends the API server; its etcd and so its objects stay. */
  stop(): Promise<void>;
  /** Starts it again on the same port, and resolves when it answers. */
  start(): Promise<void>;
  /** All answered writes since the start of the API server, without its own. */
  writes(): Promise<readonly AuditedWrite[]>;
  /** Of the API server, and of its etcd. */
  pids(): readonly number[];
}

export interface AuditedWrite {
  readonly verb: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

type Env = Readonly<Record<string, string | undefined>>;

export const whyNoApiserver =
  "no kube-apiserver: run scripts/build-kube.ts, or set TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD, or KUBEBUILDER_ASSETS";

export async function startKubeApiserver(
  env: Env,
  moreArgs: readonly string[] = [],
): Promise<RunningApiserver | undefined> {
  const [apiserver, etcd] = [await find(env, "kube-apiserver"), await find(env, "etcd")];
  if (apiserver === undefined || etcd === undefined) {
    if (env["CI"] === "true") throw new Error(whyNoApiserver);
    process.stderr.write(`SKIPPED: ${whyNoApiserver}\n`);
    return undefined;
  }
  const directory = await mkdtemp(join(tmpdir(), "kube-api-"));
  const file = (name: string): string => join(directory, name);
  const owned = new AsyncDisposableStack();
  owned.defer(() => rm(directory, { recursive: true, force: true }));
  const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
  const urls = { client: `http://127.0.0.1:${client}`, peer: `http://127.0.0.1:${peer}` };
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  await writeFile(file("sa.key"), privateKey.export({ format: "pem", type: "pkcs8" }), { mode: 0o600 });
  await writeFile(file("sa.pub"), publicKey.export({ format: "pem", type: "spki" }));
  const token = randomUUID();
  await writeFile(file("tokens.csv"), `${token},admin,admin,system:masters\n`, { mode: 0o600 });
  await writeFile(file("audit-policy.yaml"), JSON.stringify(auditPolicy));
  const store = owned.use(
    start(etcd, file("etcd.log"), [
      ...["--data-dir", file("etcd"), "--unsafe-no-fsync"],
      ...["--listen-client-urls", urls.client, "--advertise-client-urls", urls.client],
      ...["--listen-peer-urls", urls.peer, "--initial-advertise-peer-urls", urls.peer],
      ...["--initial-cluster", `default=${urls.peer}`],
    ]),
  );
  const run = (): Started =>
    start(apiserver, file("apiserver.log"), [
      ...["--etcd-servers", urls.client, "--secure-port", String(port)],
      // Without one, it looks for a default route, which a machine without a network lacks.
      ...["--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1"],
      ...["--cert-dir", file("certs"), "--token-auth-file", file("tokens.csv"), "--authorization-mode", "RBAC"],
      ...["--service-account-issuer", "https://kubernetes.default.svc", "--service-cluster-ip-range", "10.0.0.0/24"],
      ...["--service-account-key-file", file("sa.pub"), "--service-account-signing-key-file", file("sa.key")],
      ...["--api-audiences", "https://kubernetes.default.svc,istio-ca"],
      ...["--disable-admission-plugins", "ServiceAccount"],
      ...moreArgs,
      ...["--audit-policy-file", file("audit-policy.yaml"), "--audit-log-path", file("audit.log")],
    ]);
  let running = run();
  // Released before its etcd, without which it does not end.
  owned.defer(() => running[Symbol.asyncDispose]());
  try {
    await writeFile(file("kubeconfig"), kubeconfig(port, token), { mode: 0o600 });
    const config = await loadKubeConfig({ KUBECONFIG: file("kubeconfig") });
    if (config === undefined) throw new Error("the kubeconfig names no cluster");
    const api = owned.use(openKubeApi(config));
    // It allocates addresses for Services only once a range of them is synchronized; before that, it says that the range is full.
    const isThere = async () => {
      const isKnown = (await api.get("/api/v1/namespaces/default")) !== undefined;
      return isKnown && (await api.get("/api/v1/namespaces/default/services/kubernetes")) !== undefined;
    };
    const what = `kube-apiserver (${file("apiserver.log")})`;
    // On a machine with a load of 30 it took longer than a minute.
    const answers = async () => void (await until(isThere, { withinMs: 150_000, what, everyMs: 100 }));
    await answers();
    return {
      kubeconfig: file("kubeconfig"),
      api,
      stop: async () => running[Symbol.asyncDispose](),
      start: () => {
        running = run();
        return answers();
      },
      writes: async () => {
        // The audit log may lag behind answers. Once it has this request, it has all those answered before.
        const mark = `mark-${randomUUID()}`;
        await api.delete(`/api/v1/namespaces/default/configmaps/${mark}`);
        const log = () => readFile(file("audit.log"), "utf8");
        const text = await until(async () => [await log()].find((one) => one.includes(mark)), {
          ...{ withinMs: 60_000, what: "the audit log", everyMs: 5 },
        });
        return writesIn(text.slice(0, text.lastIndexOf("\n"))).filter(({ name }) => !name.startsWith("mark-"));
      },
      pids: () => [running.pid ?? 0, store.pid ?? 0],
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  } catch (error) {
    const log = await readFile(file("apiserver.log"), "utf8").catch(() => "");
    await owned.disposeAsync();
    throw new Error(`kube-apiserver does not start: ${log.slice(-1000)}`, { cause: error });
  }
}

const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived", "ResponseStarted", "Panic"],
  rules: [
    { level: "None", users: ["system:apiserver"] },
    { level: "Metadata", verbs: ["create", "update", "patch", "delete", "deletecollection"] },
    { level: "None" },
  ],
};

interface AuditEvent {
  readonly verb: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
}

function writesIn(log: string): readonly AuditedWrite[] {
  const lines = log.split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const { verb, objectRef } = JSON.parse(line) as AuditEvent;
    const { resource = "", subresource, namespace = "", name = "" } = objectRef ?? {};
    return { verb, resource: subresource === undefined ? resource : `${resource}/${subresource}`, namespace, name };
  });
}

async function find(env: Env, name: string): Promise<string | undefined> {
  const path = kubeAsset(env, name);
  return access(path).then(
    () => path,
    () => undefined,
  );
}

interface Started extends AsyncDisposable {
  readonly pid: number | undefined;
}

function start(binary: string, logFile: string, args: readonly string[]): Started {
  const log = openSync(logFile, "w");
  // Go collects garbage a quarter as often: a third of the processor time of a server that lives for seconds.
  const env = { GOGC: "400", ...process.env };
  const child: ChildProcess = spawn(binary, [...args], { stdio: ["ignore", log, log], env });
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  return {
    pid: child.pid,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await ended;
      clearTimeout(timer);
    },
  };
}

function kubeconfig(port: number, token: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user: "admin" } }],
    clusters: [{ name: "test", cluster: { server: `https://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } }],
    users: [{ name: "admin", user: { token } }],
  });
}
