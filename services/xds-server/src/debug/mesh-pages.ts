/** Pages about the mesh as it came in: configuration, services, endpoints, settings. */
import { apiVersionOf, type Kind, kindNamed } from "@flotilla/kinds";
import {
  type Change,
  type Config,
  compareText,
  type Endpoint,
  type EndpointsKey,
  parseShard,
  type Service,
} from "@flotilla/model";
import { type JsonObject, type JsonValue, toJson } from "@flotilla/proto";
import { MeshConfigSchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type { Core } from "../app/core.ts";
import type { DebugPage } from "./page.ts";
import { endpointJson, serviceJson } from "./registry-json.ts";
import { maySee, type Viewer } from "./viewer.ts";

export interface MeshPageSources {
  readonly core: Pick<Core, "mesh">;
  /** The changes in force now, each key once. */
  readonly inputs: () => Iterable<Change>;
}

export function meshPages(sources: MeshPageSources): readonly DebugPage[] {
  return [...configPages(sources), ...registryPages(sources), ...policyPages(sources)];
}

function configPages({ core, inputs }: MeshPageSources): readonly DebugPage[] {
  return [
    {
      path: "configz",
      help: "configuration as it came in, without Secrets; ?kind= for one kind",
      scope: "namespace",
      answer: ({ query, viewer }) => ({
        json: configsOf(inputs(), viewer, query.get("kind") ?? undefined).map(configJson),
      }),
    },
    {
      path: "resourcesz",
      help: "the kinds of configuration that there are objects of",
      scope: "mesh",
      answer: ({ viewer }) => {
        const kinds = new Map(configsOf(inputs(), viewer).map(({ kind }) => [kind.name, kind]));
        const sorted = [...kinds.values()].sort((a, b) => compareText(a.name, b.name));
        return { json: sorted.map(({ group, storageVersion, kind }) => ({ group, version: storageVersion, kind })) };
      },
    },
    {
      path: "mesh",
      help: "the MeshConfig in force, defaults included",
      scope: "mesh",
      answer: () => ({ json: toJson(MeshConfigSchema, core.mesh) }),
    },
  ];
}

function registryPages({ inputs }: MeshPageSources): readonly DebugPage[] {
  return [
    {
      path: "registryz",
      help: "services, with the shards that they come from and the objects that define them",
      scope: "namespace",
      answer: ({ viewer }) => ({
        json: servicesOf(inputs(), viewer).map(({ origin, ...service }) => ({
          ...serviceJson(service),
          Origin: origin.map(({ shard, definedBy }) => ({ Shard: shard, DefinedBy: definedBy })),
        })),
      }),
    },
    ...["endpointShardz", "endpointz"].map(
      (path): DebugPage => ({
        path,
        help: path === "endpointz" ? "the old name of endpointShardz" : "endpoints by service, namespace and shard",
        scope: "namespace",
        answer: ({ viewer }) => ({ json: endpointShards(inputs(), viewer) }),
      }),
    ),
    {
      path: "clusterz",
      help: "the clusters that services and endpoints come from",
      scope: "mesh",
      answer: () => ({
        json: clustersOf(inputs()).map((id) => ({ id, secretName: "", syncStatus: "synced" })),
      }),
    },
  ];
}

/** Each kind of policy under the names that istiod gives its parts. */
function policyPages({ core, inputs }: MeshPageSources): readonly DebugPage[] {
  const byNamespace = (kind: string, viewer: Viewer) => policiesByNamespace(inputs(), kind, viewer);
  const root = () => core.mesh.rootNamespace;
  return [
    {
      path: "authorizationz",
      help: "AuthorizationPolicies by namespace",
      scope: "namespace",
      answer: ({ viewer }) => {
        const policies = byNamespace("AuthorizationPolicy", viewer);
        return { json: { authorization_policies: { namespace_to_policies: policies, root_namespace: root() } } };
      },
    },
    {
      path: "telemetryz",
      help: "Telemetries by namespace",
      scope: "namespace",
      answer: ({ viewer }) => {
        const found = byNamespace("Telemetry", viewer);
        return { json: { telemetries: { namespace_to_telemetries: found, root_namespace: root() } } };
      },
    },
  ];
}

/** Objects of a kind of policy, in istiod's form of them. */
export function policiesByNamespace(
  inputs: Iterable<Change>,
  kind: string,
  viewer: Viewer,
): Readonly<Record<string, JsonValue>> {
  return Object.fromEntries(
    [...Map.groupBy(configsOf(inputs, viewer, kind), ({ config }) => config.key.namespace)].map(
      ([namespace, found]): [string, JsonValue] => [namespace, found.map(({ config }) => policyJson(config))],
    ),
  );
}

export interface FoundConfig {
  readonly kind: Kind;
  readonly config: Config;
}

/** Kinds of Istio and of the Gateway API: objects of the core group are secret or not configuration. */
export function configsOf(inputs: Iterable<Change>, viewer: Viewer, only?: string): readonly FoundConfig[] {
  const found: FoundConfig[] = [];
  for (const change of inputs) {
    if (change.type !== "config" || change.op !== "put" || (only !== undefined && change.key.kind !== only)) continue;
    const kind = kindNamed(change.key.kind);
    if (kind === undefined || kind.group === "" || !maySee(viewer, change.key.namespace)) continue;
    found.push({ kind, config: change.value });
  }
  const text = ({ config: { key } }: FoundConfig) => `${key.kind}/${key.namespace}/${key.name}`;
  return found.sort((a, b) => compareText(text(a), text(b)));
}

export function configJson({ kind, config }: FoundConfig): JsonObject {
  const { key, labels, annotations, creationTimeMs, resourceVersion, generation, spec, status } = config;
  return {
    kind: kind.kind,
    apiVersion: apiVersionOf(kind),
    metadata: {
      name: key.name,
      namespace: key.namespace,
      ...(Object.keys(labels).length > 0 && { labels: { ...labels } }),
      ...(Object.keys(annotations).length > 0 && { annotations: { ...annotations } }),
      ...(creationTimeMs > 0 && { creationTimestamp: new Date(creationTimeMs).toISOString() }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(generation !== undefined && { generation }),
    },
    spec: spec as JsonValue,
    ...(status !== undefined && { status: status as JsonValue }),
  };
}

function policyJson({ key, annotations, spec }: Config): JsonObject {
  const notes = Object.keys(annotations).length === 0 ? null : { ...annotations };
  return { name: key.name, namespace: key.namespace, annotations: notes, spec: spec as JsonValue };
}

export interface ServiceWithOrigin extends Service {
  readonly origin: readonly { readonly shard: string; readonly definedBy: string }[];
}

/** A service of several clusters once, with the addresses of each and where it comes from. */
export function servicesOf(inputs: Iterable<Change>, viewer: Viewer): readonly ServiceWithOrigin[] {
  const byName = new Map<string, ServiceWithOrigin>();
  for (const change of inputs) {
    if (change.type !== "service" || change.op !== "put" || !maySee(viewer, change.key.namespace)) continue;
    const { hostname, namespace, name } = change.key;
    const text = `${hostname}/${namespace}/${change.value.registry}/${name}`;
    const known = byName.get(text);
    const { value } = change;
    const origin = { shard: change.key.shard, definedBy: value.definedBy };
    byName.set(
      text,
      known
        ? { ...known, clusterVips: { ...known.clusterVips, ...value.clusterVips }, origin: [...known.origin, origin] }
        : { ...value, origin: [origin] },
    );
  }
  return [...byName].sort(([a], [b]) => compareText(a, b)).map(([, service]) => service);
}

interface Shards {
  readonly Shards: Readonly<Record<string, JsonValue>>;
  readonly ServiceAccounts: Readonly<Record<string, JsonObject>>;
}

/** By host name and namespace. */
function endpointShards(inputs: Iterable<Change>, viewer: Viewer) {
  const found = [...inputs].flatMap((change) =>
    change.type === "endpoints" && change.op === "put" && maySee(viewer, change.key.namespace) ? [change] : [],
  );
  const text = ({ key }: (typeof found)[number]) => `${key.hostname}/${key.namespace}/${key.shard}`;
  const sorted = found.sort((a, b) => compareText(text(a), text(b)));
  const byHost = Map.groupBy(sorted, ({ key }) => key.hostname);
  return Object.fromEntries(
    [...byHost].map(([host, changes]) => {
      const byNamespace = Map.groupBy(changes, ({ key }) => key.namespace);
      return [host, Object.fromEntries([...byNamespace].map(([namespace, shards]) => [namespace, shardsOf(shards)]))];
    }),
  );
}

function shardsOf(changes: readonly { readonly key: EndpointsKey; readonly value: readonly Endpoint[] }[]): Shards {
  const accounts = changes.flatMap(({ value }) => accountsOf(value));
  return {
    Shards: Object.fromEntries(changes.map(({ key, value }) => [key.shard, value.map(endpointJson)])),
    ServiceAccounts: Object.fromEntries(accounts.map((account) => [account, {}])),
  };
}

function accountsOf(endpoints: readonly Endpoint[]): readonly string[] {
  return endpoints.map(({ serviceAccount }) => serviceAccount).filter((account) => account !== "");
}

function clustersOf(inputs: Iterable<Change>): readonly string[] {
  const ids = new Set<string>();
  for (const change of inputs) {
    if (change.type === "config") continue;
    ids.add(parseShard(change.key.shard).clusterId);
  }
  return [...ids].filter((id) => id !== "").sort();
}
