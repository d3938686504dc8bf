/** Which API server to ask, and as whom: from a kubeconfig file, or as a pod finds it. */
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import type { KubeCredentials } from "./credentials.ts";
import { KubeError } from "./errors.ts";
import { type ExecCredentials, type ExecFields, execCredentials } from "./exec-credentials.ts";

export interface KubeConfig {
  readonly server: string;
  /** Read for each connection. */
  readonly credentials: () => Promise<KubeCredentials>;
  /** The API server does not accept them: those that were kept are of no use. */
  readonly onRefused?: () => void;
}

type Env = Readonly<Record<string, string | undefined>>;

const mounted = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Undefined when the environment names no cluster. @throws KubeError KUBE_CONFIG */
export async function loadKubeConfig(env: Env): Promise<KubeConfig | undefined> {
  const file = env["KUBECONFIG"];
  if (file !== undefined && file !== "") return readKubeConfig(file);
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = env;
  if (host === undefined || host === "") return undefined;
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    credentials: async () => ({
      ca: await text(`${mounted}/ca.crt`),
      token: (await text(`${mounted}/token`)).trim(),
    }),
  };
}

interface Named {
  readonly name?: string;
}
interface Document {
  readonly "current-context"?: string;
  readonly contexts?: readonly (Named & { readonly context?: { readonly cluster?: string; readonly user?: string } })[];
  readonly clusters?: readonly (Named & { readonly cluster?: Fields })[];
  readonly users?: readonly (Named & { readonly user?: Fields })[];
}
type Fields = Readonly<Record<string, unknown>>;

/**
 * The current context of a kubeconfig that came from somewhere else, such as a Secret: it may neither run programs nor read our
 * files, but for what is `allowed`, in istiod's words: exec, clientKey, clientCertificate, tokenFile. `name` is what errors call it. @throws KubeError KUBE_CONFIG
 */
export function parseKubeConfig(content: string, name: string, allowed: ReadonlySet<string> = new Set()): KubeConfig {
  const context = contextOf(content, name);
  refuseInsecure(context, name, allowed);
  return configOf(context, name, "/");
}

async function readKubeConfig(file: string): Promise<KubeConfig> {
  return configOf(contextOf(await text(file), file), file, dirname(file));
}

interface Context {
  readonly server: string;
  readonly cluster: Fields;
  readonly user: Fields;
}

function contextOf(content: string, file: string): Context {
  const document = documentOf(content, file);
  const context = find(document.contexts, document["current-context"])?.context;
  const cluster = find(document.clusters, context?.cluster)?.cluster;
  const user = find(document.users, context?.user)?.user ?? {};
  const server = cluster?.["server"];
  if (cluster === undefined || typeof server !== "string")
    throw new KubeError("KUBE_CONFIG", `${file} has no server for its current context`);
  const provider = user["auth-provider"] as { readonly name?: unknown } | undefined;
  if (provider !== undefined)
    throw new KubeError(
      "KUBE_CONFIG",
      `${file}: auth-provider ${String(provider.name)} is not supported, nor by Kubernetes since 1.26: use exec`,
    );
  return { server, cluster, user };
}

/** Paths are taken from `directory`. */
function configOf({ server, cluster, user }: Context, file: string, directory: string): KubeConfig {
  const field = (fields: Fields, name: string): Promise<string | undefined> => read(fields, name, directory);
  const program =
    user["exec"] === undefined ? undefined : programOf(user["exec"], { server, cluster }, file, directory);
  return {
    server,
    ...(program && { onRefused: () => program.forget() }),
    credentials: async () => {
      const token = user["token"] ?? (await field(user, "tokenFile"));
      const found = {
        ca: await field(cluster, "certificate-authority"),
        cert: await field(user, "client-certificate"),
        key: await field(user, "client-key"),
        token: typeof token === "string" ? token.trim() : undefined,
      };
      const given = Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
      const isInsecure = cluster["insecure-skip-tls-verify"] === true;
      return { ...(await program?.get()), ...given, isInsecure };
    },
  };
}

/** @throws KubeError KUBE_CONFIG */
function programOf(
  exec: unknown,
  { server, cluster }: Pick<Context, "server" | "cluster">,
  file: string,
  directory: string,
): ExecCredentials {
  const { command, args, env, apiVersion, provideClusterInfo } = (exec ?? {}) as Partial<ExecFields> & {
    readonly provideClusterInfo?: boolean;
  };
  if (typeof command !== "string" || command === "") throw new KubeError("KUBE_CONFIG", `${file}: exec has no command`);
  const known = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
  if (typeof apiVersion !== "string" || !known.includes(apiVersion))
    throw new KubeError("KUBE_CONFIG", `${file}: exec has apiVersion ${apiVersion}, not one of ${known.join(", ")}`);
  const told = {
    server,
    "certificate-authority-data": cluster["certificate-authority-data"],
    "insecure-skip-tls-verify": cluster["insecure-skip-tls-verify"],
  };
  const fields = {
    // A path is taken from where the kubeconfig lies, a bare name from PATH.
    command: command.includes("/") ? resolve(directory, command) : command,
    args: (args ?? []).map(String),
    env: env ?? [],
    apiVersion,
    cluster: provideClusterInfo === true ? told : undefined,
  };
  return execCredentials(fields, file);
}

function documentOf(content: string, file: string): Document {
  let document: unknown;
  try {
    document = parse(content);
  } catch (cause) {
    throw new KubeError("KUBE_CONFIG", `${file} is no YAML: ${(cause as Error).message.split("\n")[0]}`, { cause });
  }
  if (typeof document !== "object" || document === null || Array.isArray(document))
    throw new KubeError("KUBE_CONFIG", `${file} is no kubeconfig`);
  for (const name of ["contexts", "clusters", "users"] as const) {
    const list = (document as Document)[name];
    if (list !== undefined && !Array.isArray(list)) throw new KubeError("KUBE_CONFIG", `${file}: ${name} is no list`);
  }
  return document as Document;
}

/** Whoever may write the document must not choose which of our files are sent to his server, nor what we run. */
function refuseInsecure({ cluster, user }: Context, file: string, allowed: ReadonlySet<string>): void {
  const refuse = (what: string, option: string | undefined) => {
    const how = option === undefined ? "" : `, unless PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS has ${option}`;
    throw new KubeError("KUBE_CONFIG", `${file}: ${what}, which is refused${how}`);
  };
  if (user["exec"] !== undefined && !allowed.has("exec")) refuse("exec gets credentials from a program", "exec");
  const files = { "client-certificate": "clientCertificate", "client-key": "clientKey", tokenFile: "tokenFile" };
  for (const [field, option] of Object.entries(files))
    if (user[field] !== undefined && !allowed.has(option)) refuse(`${field} names a file`, option);
  if (cluster["certificate-authority"] !== undefined) refuse("certificate-authority names a file", undefined);
}

function find<T extends Named>(all: readonly T[] | undefined, name: string | undefined): T | undefined {
  return all?.find((one) => one.name === name);
}

/** A field holds a path; beside it, `-data` holds the content itself. */
async function read(fields: Fields, name: string, directory: string): Promise<string | undefined> {
  const data = fields[`${name}-data`];
  if (typeof data === "string") return Buffer.from(data, "base64").toString();
  const path = fields[name];
  return typeof path === "string" ? text(resolve(directory, path)) : undefined;
}

async function text(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new KubeError("KUBE_CONFIG", `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
