/**
 * The inputs of the status of Gateway API objects, in a graph: objects of the configuration with the rows they stand in, and the existing
 * services. Queries that read a row (an empty one too) are notified of its changes.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import {
  type CredentialData,
  certificateProblem,
  type GatewayClassRules,
  type HttpRouteSpec,
  isRoute,
  type ListenerSetSpec,
  readRoute,
  rootsProblem,
  routeHead,
} from "@flotilla/gateway-api";
import type { Graph, InputKey } from "@flotilla/incremental";
import { overlayProblem } from "@flotilla/injection";
import { type Config, type ConfigKey, compareByAge, configKeyText } from "@flotilla/model";
import type { ServiceFacts } from "./service-facts.ts";

/** Status is the same for all readers: computations have no subject. */
export type NoSubject = undefined;

/** Problems of a Secret or ConfigMap, as a certificate, as roots and as parameters; the data itself is not kept. */
export interface CredentialFacts {
  readonly certificate: string | undefined;
  readonly roots: string | undefined;
  readonly parameters: string | undefined;
}

export const inputs = {
  /** DNS suffix of Kubernetes services. */
  domain: "domain" as InputKey<string>,
  classes: "classes" as InputKey<ReadonlyMap<string, GatewayClassRules>>,
  object: (key: ConfigKey): InputKey<Config> => `object/${configKeyText(key)}`,
  row: (name: string): InputKey<readonly Config[]> => `row/${name}`,
  credential: (kind: string, namespace: string, name: string): InputKey<CredentialFacts> =>
    `credential/${kind}/${namespace}/${name}`,
  service: (hostname: string): InputKey<ServiceFacts> => `service/${hostname}`,
};

export const rows = {
  setsOf: (namespace: string, name: string) => `sets/${namespace}/${name}`,
  grantsIn: (namespace: string) => `grants/${namespace}`,
  namespaces: "namespaces",
  /** Routes with a Gateway or ListenerSet as their parent, without what they are made of. */
  routesOf: (kind: string, namespace: string, name: string) => `routes/${kind}/${namespace}/${name}`,
  /** Routes with a back end, likewise. */
  usersOf: (group: string, kind: string, namespace: string, name: string) =>
    `users/${group}/${kind}/${namespace}/${name}`,
  policiesIn: (namespace: string) => `policies/${namespace}`,
};

/** Kinds with a status of ours. */
export const statusKinds: ReadonlySet<string> = new Set([
  "GatewayClass",
  "KubernetesGateway",
  "ListenerSet",
  "HTTPRoute",
  "GRPCRoute",
  "TCPRoute",
  "TLSRoute",
  "UDPRoute",
  "BackendTLSPolicy",
  "XBackendTrafficPolicy",
  "XBackend",
  "InferencePool",
]);
const otherKinds: ReadonlySet<string> = new Set(["ReferenceGrant", "Namespace", "ServiceEntry", "Secret", "ConfigMap"]);

export function isInput({ kind }: ConfigKey): boolean {
  return statusKinds.has(kind) || otherKinds.has(kind);
}

export class GatewayInputs {
  readonly #graph: Graph<NoSubject>;
  readonly #rows = new Map<string, Map<string, Config>>();
  readonly #touched = new Set<string>();

  constructor(graph: Graph<NoSubject>) {
    this.#graph = graph;
  }

  /** `after` undefined: the object is gone. Rows follow with `flush`. */
  set(key: ConfigKey, after: Config | undefined): void {
    if (key.kind === "Secret" || key.kind === "ConfigMap") {
      this.#graph.set(inputs.credential(key.kind, key.namespace, key.name), after && credentialFacts(after), sameFacts);
      return;
    }
    const input = inputs.object(key);
    const before = this.#graph.get(input);
    const config = after && readable(after);
    this.#graph.set(input, config);
    const text = configKeyText(key);
    const [left, entered] = [new Set(before ? rowsOf(before) : []), new Set(config ? rowsOf(config) : [])];
    for (const row of left) if (!entered.has(row)) this.#rowOf(row).delete(text);
    for (const row of entered) if (config !== undefined) this.#enter(row, text, config);
  }

  /** Rows of routes say which ones there are: a change within a route, of thousands in a row, leaves them as they are. */
  #enter(row: string, text: string, config: Config): void {
    if (!isRoute(config.key)) {
      this.#rowOf(row).set(text, config);
      return;
    }
    if (this.#rows.get(row)?.get(text)?.creationTimeMs === config.creationTimeMs) return;
    this.#rowOf(row).set(text, { ...config, spec: {} });
  }

  setService(hostname: string, facts: ServiceFacts | undefined): void {
    this.#graph.set(inputs.service(hostname), facts, (a, b) => JSON.stringify(a) === JSON.stringify(b));
  }

  /** Makes the rows follow: once for many objects, since a row is as long as what stands in it. */
  flush(): void {
    for (const row of this.#touched) {
      const members = [...(this.#rows.get(row) ?? [])].sort(([, a], [, b]) => compareByAge(a, b));
      const configs = members.map(([, config]) => config);
      this.#graph.set(inputs.row(row), members.length === 0 ? undefined : configs);
      // In their order, so that the next sort has little to do.
      if (members.length === 0) this.#rows.delete(row);
      else this.#rows.set(row, new Map(members));
    }
    this.#touched.clear();
  }

  #rowOf(row: string): Map<string, Config> {
    this.#touched.add(row);
    const members = this.#rows.get(row) ?? new Map<string, Config>();
    this.#rows.set(row, members);
    return members;
  }
}

/** A route that cannot be read keeps the form it has: it gets no status. */
function readable(config: Config): Config {
  if (!isRoute(config.key)) return config;
  try {
    return readRoute(config);
  } catch {
    return { ...config, spec: {} };
  }
}

function rowsOf({ key, spec }: Config): readonly string[] {
  const { kind, namespace } = key;
  if (kind === "ListenerSet") {
    const { parentRef = {} } = spec as ListenerSetSpec;
    return [rows.setsOf(parentRef.namespace ?? namespace, parentRef.name ?? "")];
  }
  if (kind === "ReferenceGrant") return [rows.grantsIn(namespace)];
  if (kind === "Namespace") return [rows.namespaces];
  if (kind === "BackendTLSPolicy") return [rows.policiesIn(namespace)];
  if (!isRoute(key)) return [];
  const route = spec as HttpRouteSpec;
  const parents = routeHead(key, route).parents.map((parent) =>
    rows.routesOf(parent.kind, parent.namespace, parent.name),
  );
  const users = (route.rules ?? []).flatMap(({ backendRefs = [] }) =>
    backendRefs.map((ref) =>
      rows.usersOf(ref.group ?? "", ref.kind ?? "Service", ref.namespace ?? namespace, ref.name ?? ""),
    ),
  );
  return [...parents, ...users];
}

function credentialFacts({ key, spec }: Config): CredentialFacts {
  const { kind, namespace, name } = key;
  const data = dataOf(kind, spec);
  return {
    certificate: kind === "Secret" ? (certificateProblem(namespace, name, data) ?? keyProblem(data)) : undefined,
    roots: rootsProblem({ kind, namespace, name }, data),
    parameters: kind === "ConfigMap" ? overlayProblem(data ?? {}) : undefined,
  };
}

function dataOf(kind: string, spec: unknown): CredentialData {
  const { data = {} } = (spec ?? {}) as { readonly data?: Readonly<Record<string, string>> };
  if (kind !== "Secret") return data;
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, "base64").toString()]));
}

function keyProblem(data: CredentialData): string | undefined {
  const [certificate, key] = [data?.["cert"] ?? data?.["tls.crt"] ?? "", data?.["key"] ?? data?.["tls.key"] ?? ""];
  try {
    if (new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) return undefined;
    return "the certificate is malformed: tls: private key does not match public key";
  } catch (error) {
    return `the certificate is malformed: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function sameFacts(a: CredentialFacts, b: CredentialFacts): boolean {
  return a.certificate === b.certificate && a.roots === b.roots && a.parameters === b.parameters;
}
