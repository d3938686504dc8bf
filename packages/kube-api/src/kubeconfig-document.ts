/** The current context of a kubeconfig. Its fields are read by @kubernetes/client-node, once their shapes are known to be right. */
import type { Cluster, User } from "@kubernetes/client-node";
// This file of the package alone: its entry loads the generated clients of all APIs, see docs/decisions/0096-the-kubernetes-client.md.
import { newClusters, newContexts, newUsers } from "@kubernetes/client-node/dist/config_types.js";
import { parse } from "yaml";
import { KubeError } from "./errors.ts";

/** Cluster and user of the current context. */
export interface KubeContext {
  readonly cluster: Cluster;
  readonly user: User & { readonly tokenFile?: string };
}

type Fields = Readonly<Record<string, unknown>>;
interface Named {
  readonly name?: unknown;
  readonly cluster?: Fields | null;
  readonly user?: Fields | null;
}
type Lists = Readonly<Record<"contexts" | "clusters" | "users", readonly Named[]>>;

const clusterTexts = [
  "server",
  "certificate-authority",
  "certificate-authority-data",
  "tls-server-name",
  "proxy-url",
] as const;
const userTexts = [
  "token",
  "tokenFile",
  "username",
  "password",
  "client-certificate",
  "client-certificate-data",
  "client-key",
  "client-key-data",
  "as",
] as const;
/** Impersonation without these would act with other rights than were meant. */
const unknownToUs = ["as-groups", "as-uid", "as-user-extra"] as const;
/** An unusable entry is left out; the others are kept. */
const lenient = { onInvalidEntry: "filter" } as const;

/** `file` is what errors call it; `wanted` names another context than the current one. @throws KubeError KUBE_CONFIG */
export function currentContext(content: string, file: string, wanted?: string): KubeContext {
  const wrong = (what: string) => new KubeError("KUBE_CONFIG", `${file}${what}`);
  const { lists, current } = documentOf(content, file);
  const context = newContexts(lists.contexts, lenient).find(({ name }) => name === (wanted ?? current));
  if (wanted !== undefined && context === undefined) throw wrong(` has no context ${wanted}`);
  const clusterFields = fieldsOf(lists, "cluster", context?.cluster);
  const userFields = fieldsOf(lists, "user", context?.user);
  const text = (kind: string, name: string | undefined, fields: Fields) => (field: string) => {
    // own key: one of our names
    const value = fields[field];
    if (value !== undefined && value !== null && typeof value !== "string")
      throw wrong(`: ${field} of the ${kind} ${name} is no text`);
  };
  clusterTexts.forEach(text("cluster", context?.cluster, clusterFields));
  userTexts.forEach(text("user", context?.user, userFields));
  const [cluster] = newClusters([{ name: context?.cluster, cluster: clusterFields }], lenient);
  if (cluster === undefined) throw wrong(" has no server for its current context");
  const { server, proxyUrl } = cluster;
  if (!isUrl(server, /^https?:$/)) throw wrong(`: server ${server} is no http or https URL`);
  if (proxyUrl && !isUrl(proxyUrl, /^(https?|socks5?h?):$/))
    throw wrong(`: proxy-url ${proxyUrl} is no http, https or socks5 URL`);
  for (const field of unknownToUs) if (userFields[field]) throw wrong(`: ${field} is not supported`);
  const provider = userFields["auth-provider"] as
    | { readonly name?: unknown; readonly config?: unknown }
    | null
    | undefined;
  if (provider && provider.name !== "oidc")
    throw wrong(`: auth-provider ${String(provider.name)} is not supported, nor by Kubernetes since 1.26: use exec`);
  for (const [field, value] of Object.entries(provider?.config ?? {}))
    if (typeof value !== "string") throw wrong(`: ${field} of auth-provider oidc is no text`);
  return { cluster, user: userOf(context?.user, userFields) };
}

/** The cluster of the current context, else of the first context, else the first cluster by name. @throws KubeError KUBE_CONFIG */
export function clusterNameOf(content: string, file: string): string {
  const { lists, current } = documentOf(content, file);
  const byName = newContexts(lists.contexts, lenient).sort((a, b) => compareText(a.name, b.name));
  const context = byName.find(({ name }) => name === current) ?? byName[0];
  if (context?.cluster) return context.cluster;
  const [first] = lists.clusters.flatMap(({ name }) => (typeof name === "string" && name !== "" ? [name] : [])).sort();
  if (first === undefined) throw new KubeError("KUBE_CONFIG", `${file} names no cluster`);
  return first;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function userOf(name: string | undefined, fields: Fields): KubeContext["user"] {
  // The library opens the file of a field token-file, which Kubernetes has not, while it reads the document.
  const { "token-file": _, ...known } = fields;
  const [user = { name: "" }] = newUsers([{ name: name ?? "none", user: known }]);
  const tokenFile = fields["tokenFile"];
  return { ...user, ...(typeof tokenFile === "string" && { tokenFile }) };
}

function fieldsOf(lists: Lists, kind: "cluster" | "user", name: string | undefined): Fields {
  const fields = lists[`${kind}s`].find((one) => one?.name === name && name !== undefined)?.[kind];
  return typeof fields === "object" && fields !== null ? fields : {};
}

function documentOf(content: string, file: string): { readonly lists: Lists; readonly current: unknown } {
  let document: unknown;
  try {
    document = parse(content);
  } catch (cause) {
    throw new KubeError("KUBE_CONFIG", `${file} is no YAML: ${(cause as Error).message.split("\n")[0]}`, { cause });
  }
  if (typeof document !== "object" || document === null || Array.isArray(document))
    throw new KubeError("KUBE_CONFIG", `${file} is no kubeconfig`);
  const list = (name: keyof Lists): readonly Named[] => {
    const value = (document as Fields)[name] ?? [];
    if (!Array.isArray(value)) throw new KubeError("KUBE_CONFIG", `${file}: ${name} is no list`);
    return value;
  };
  const lists = { contexts: list("contexts"), clusters: list("clusters"), users: list("users") };
  return { lists, current: (document as Fields)["current-context"] };
}

function isUrl(text: string, protocol: RegExp): boolean {
  const url = URL.parse(text);
  return url !== null && protocol.test(url.protocol);
}
