/** The API server to ask, and the credentials: from a kubeconfig file, or as a pod finds them. */
import { readFile } from "node:fs/promises";
import type { Agent, RequestOptions } from "node:https";
import { dirname, resolve } from "node:path";
import { type SettingsOf, text } from "@flotilla/runtime";
import type { Cluster } from "@kubernetes/client-node";
import type { KubeCredentials, RenewedCredentials } from "./credentials.ts";
import { KubeError } from "./errors.ts";
import { type ExecFields, execCredentials } from "./exec-credentials.ts";
import { currentContext, type KubeContext } from "./kubeconfig-document.ts";
import { oidcCredentials } from "./oidc-credentials.ts";

/** An API server, and whose name requests are made in. */
export interface KubeConfig {
  /** Without a slash at its end. */
  readonly server: string;
  /** Read for each connection. */
  readonly credentials: () => Promise<KubeCredentials>;
  /** The API server does not accept them: those that were kept are of no use. */
  readonly onRefused?: () => void;
  /** Where connections go through a proxy. */
  readonly agent?: (credentials: KubeCredentials) => Promise<Agent>;
}

type Env = Readonly<Record<string, string | undefined>>;

const mounted = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Undefined when the environment names no cluster; by default the current context of its file. @throws KubeError KUBE_CONFIG */
export async function loadKubeConfig(env: Env, context?: string): Promise<KubeConfig | undefined> {
  const file = env["KUBECONFIG"];
  if (file !== undefined && file !== "")
    return configOf(currentContext(await readText(file), file, context), file, dirname(file));
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = env;
  if (host === undefined || host === "") return undefined;
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    credentials: async () => ({
      ca: await readText(`${mounted}/ca.crt`),
      token: (await readText(`${mounted}/token`)).trim(),
    }),
  };
}

/**
 * The current context of a kubeconfig that came from somewhere else, such as a Secret: it may neither run programs nor read our
 * files, but for what is `allowed`, in istiod's words: exec, clientKey, clientCertificate, tokenFile. `name` is what errors call it. @throws KubeError KUBE_CONFIG
 */
export function parseKubeConfig(content: string, name: string, allowed: ReadonlySet<string> = new Set()): KubeConfig {
  const context = currentContext(content, name);
  refuseInsecure(context, name, allowed);
  return configOf(context, name, "/");
}

/** Paths are taken from `directory`. */
function configOf({ cluster, user }: KubeContext, file: string, directory: string): KubeConfig {
  const renewed = renewedOf({ cluster, user }, file, directory);
  // The content itself goes before the file that is named beside it, as with Kubernetes' own client.
  const content = async (data: string | undefined, path: string | undefined) =>
    data ? Buffer.from(data, "base64").toString() : path ? readText(resolve(directory, path)) : undefined;
  return {
    server: cluster.server,
    ...(renewed && { onRefused: () => renewed.forget() }),
    ...(cluster.proxyUrl && { agent: proxyAgents(cluster) }),
    credentials: async () => {
      const found = {
        ca: await content(cluster.caData, cluster.caFile),
        cert: await content(user.certData, user.certFile),
        key: await content(user.keyData, user.keyFile),
        token: (user.token || (await content(undefined, user.tokenFile)))?.trim(),
        username: user.username,
        password: user.password,
        servername: cluster.tlsServerName,
        impersonate: user.impersonateUser,
      };
      const given = Object.fromEntries(Object.entries(found).filter(([, value]) => value));
      return { ...(await renewed?.get()), ...given, isInsecure: cluster.skipTLSVerify };
    },
  };
}

/** @throws KubeError KUBE_CONFIG */
function renewedOf({ cluster, user }: KubeContext, file: string, directory: string): RenewedCredentials | undefined {
  if (user.exec) return execCredentials(programOf(user.exec, cluster, file, directory), file);
  if (!user.authProvider) return undefined;
  const config = { ...user.authProvider.config };
  const issuers = config["idp-certificate-authority"];
  if (issuers) config["idp-certificate-authority"] = resolve(directory, issuers);
  return oidcCredentials(config, file);
}

/** @throws KubeError KUBE_CONFIG */
function programOf(exec: unknown, cluster: KubeContext["cluster"], file: string, directory: string): ExecFields {
  const { command, args, env, apiVersion, provideClusterInfo } = exec as Partial<ExecFields> & {
    readonly provideClusterInfo?: boolean;
  };
  if (typeof command !== "string" || command === "") throw new KubeError("KUBE_CONFIG", `${file}: exec has no command`);
  const known = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
  if (typeof apiVersion !== "string" || !known.includes(apiVersion))
    throw new KubeError("KUBE_CONFIG", `${file}: exec has apiVersion ${apiVersion}, not one of ${known.join(", ")}`);
  if (args && !Array.isArray(args)) throw new KubeError("KUBE_CONFIG", `${file}: args of exec is no list`);
  const isVariable = (one: unknown) =>
    typeof one === "object" && one !== null && "name" in one && "value" in one && typeof one.value === "string";
  if (env && !(Array.isArray(env) && env.every(isVariable)))
    throw new KubeError("KUBE_CONFIG", `${file}: env of exec is no list of names and values`);
  const clusterInfo = {
    server: cluster.server,
    "tls-server-name": cluster.tlsServerName,
    "certificate-authority-data": cluster.caData,
    "insecure-skip-tls-verify": cluster.skipTLSVerify,
    "proxy-url": cluster.proxyUrl,
  };
  return {
    // A path is taken from where the kubeconfig lies, a bare name from PATH.
    command: command.includes("/") ? resolve(directory, command) : command,
    args: (args ?? []).map(String),
    env: env ?? [],
    apiVersion,
    cluster: provideClusterInfo === true ? clusterInfo : undefined,
  };
}

/** Writers of the document must not choose which of our files are sent to their server, nor which programs we run. */
function refuseInsecure({ cluster, user }: KubeContext, file: string, allowed: ReadonlySet<string>): void {
  const refuse = (what: string, option: string | undefined) => {
    const how = option === undefined ? "" : `, unless PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS has ${option}`;
    throw new KubeError("KUBE_CONFIG", `${file}: ${what}, which is refused${how}`);
  };
  if (user.exec && !allowed.has("exec")) refuse("exec gets credentials from a program", "exec");
  if (user.certFile && !allowed.has("clientCertificate"))
    refuse("client-certificate names a file", "clientCertificate");
  if (user.keyFile && !allowed.has("clientKey")) refuse("client-key names a file", "clientKey");
  if (user.tokenFile && !allowed.has("tokenFile")) refuse("tokenFile names a file", "tokenFile");
  if (cluster.caFile) refuse("certificate-authority names a file", undefined);
  if (user.authProvider?.config?.["idp-certificate-authority"])
    refuse("idp-certificate-authority names a file", undefined);
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new KubeError("KUBE_CONFIG", `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Connections to an API server through the proxy that its kubeconfig names (`proxy-url`: http, https, socks5). Holds one
 * agent, until the certificates change.
 */
function proxyAgents({ server, proxyUrl = "" }: Cluster): (credentials: KubeCredentials) => Promise<Agent> {
  let held: { readonly tls: string; readonly agent: Promise<Agent> } | undefined;
  return ({ ca, cert, key, servername, isInsecure = false }) => {
    const tls = { ca, cert, key, servername, rejectUnauthorized: !isInsecure };
    const text = JSON.stringify(tls);
    if (held?.tls !== text) held = { tls: text, agent: openAgent({ server, proxyUrl, isInsecure }, tls) };
    return held.agent;
  };
}

interface Way {
  readonly server: string;
  readonly proxyUrl: string;
  readonly isInsecure: boolean;
}

async function openAgent({ server, proxyUrl, isInsecure }: Way, tls: object): Promise<Agent> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const kubeConfig = new KubeConfig();
  const cluster = { name: "cluster", server, proxyUrl, skipTLSVerify: isInsecure };
  kubeConfig.loadFromClusterAndUser(cluster, { name: "user" });
  // The agent's options take precedence over a request's: it must hold the certificates itself.
  const options: RequestOptions = { ...tls };
  await kubeConfig.applyToHTTPSOptions(options);
  return options.agent as Agent;
}

/** The settings by which a service finds the API server of its cluster. */
export const apiServerSettings = {
  kubeconfig: text({
    env: "CLUSTER_KUBECONFIG",
    default: undefined,
    sentence: "A kubeconfig file of the cluster to work for; in a pod of the cluster none is needed.",
  }),
  kubeHost: text({
    env: "KUBERNETES_SERVICE_HOST",
    default: undefined,
    sentence: "Address of the API server, as Kubernetes passes it to pods.",
  }),
  kubePort: text({ env: "KUBERNETES_SERVICE_PORT", default: "443", sentence: "Port of the API server, likewise." }),
} as const;

/** Values of `apiServerSettings`. */
export type ApiServerSettings = SettingsOf<typeof apiServerSettings>;

/** Undefined when nothing names a cluster. @throws KubeError KUBE_CONFIG */
export function clusterOf({ kubeconfig, kubeHost, kubePort }: ApiServerSettings): Promise<KubeConfig | undefined> {
  return loadKubeConfig({
    KUBECONFIG: kubeconfig,
    KUBERNETES_SERVICE_HOST: kubeHost,
    KUBERNETES_SERVICE_PORT: kubePort,
  });
}

/** The cluster that the process runs in, whatever cluster it works for. Undefined outside of one. @throws KubeError KUBE_CONFIG */
export function clusterAround({ kubeHost, kubePort }: ApiServerSettings): Promise<KubeConfig | undefined> {
  return loadKubeConfig({ KUBERNETES_SERVICE_HOST: kubeHost, KUBERNETES_SERVICE_PORT: kubePort });
}
