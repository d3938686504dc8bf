/** Which API server to ask, and as whom: from a kubeconfig file, or as a pod finds it. */
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import { KubeError } from "./errors.ts";

export interface KubeConfig {
  readonly server: string;
  /** Read for each connection. */
  readonly credentials: () => Promise<KubeCredentials>;
}

export interface KubeCredentials {
  readonly ca?: string;
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly isInsecure?: boolean;
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
 * files. `name` is what errors call it. @throws KubeError KUBE_CONFIG
 */
export function parseKubeConfig(content: string, name: string): KubeConfig {
  return configOf(content, name, undefined);
}

async function readKubeConfig(file: string): Promise<KubeConfig> {
  return configOf(await text(file), file, dirname(file));
}

/** Paths are taken from `directory`; without one they are refused. */
function configOf(content: string, file: string, directory: string | undefined): KubeConfig {
  const document = documentOf(content, file);
  const context = find(document.contexts, document["current-context"])?.context;
  const cluster = find(document.clusters, context?.cluster)?.cluster;
  const user = find(document.users, context?.user)?.user ?? {};
  const server = cluster?.["server"];
  if (cluster === undefined || typeof server !== "string")
    throw new KubeError("KUBE_CONFIG", `${file} has no server for its current context`);
  if (user["exec"] !== undefined || user["auth-provider"] !== undefined)
    throw new KubeError("KUBE_CONFIG", `${file} gets its credentials from a program, which is not supported`);
  if (directory === undefined) refuseFiles(cluster, user, file);
  const field = (fields: Fields, name: string): Promise<string | undefined> => read(fields, name, directory ?? "");
  return {
    server,
    credentials: async () => {
      const token = user["token"] ?? (await field(user, "tokenFile"));
      const found = {
        ca: await field(cluster, "certificate-authority"),
        cert: await field(user, "client-certificate"),
        key: await field(user, "client-key"),
        token: typeof token === "string" ? token.trim() : undefined,
      };
      const given = Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
      return { ...given, isInsecure: cluster["insecure-skip-tls-verify"] === true };
    },
  };
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

/** Whoever may write the document must not choose which of our files are sent to his server. */
function refuseFiles(cluster: Fields, user: Fields, file: string): void {
  const fields = ["certificate-authority", "client-certificate", "client-key", "tokenFile"] as const;
  const named = fields.find((name) => cluster[name] !== undefined || user[name] !== undefined);
  if (named !== undefined) throw new KubeError("KUBE_CONFIG", `${file}: ${named} names a file, which is refused`);
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
