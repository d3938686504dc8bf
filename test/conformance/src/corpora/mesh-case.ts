/** The part that the corpora xds and simulation have in common: the mesh of a test of Istio's, and one proxy in it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Change, type KubeObject, type Locality, type Proxy, parseLocality, parseNode } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { createMesh } from "@flotilla/registry";
import { Core } from "@flotilla/xds-server/core";
import { parseFeatures } from "@flotilla/xds-server/features";
import { parseAllDocuments } from "yaml";

export interface MeshCase {
  readonly features?: Readonly<Record<string, string | number | boolean>>;
  readonly inputs: {
    readonly proxy: CaseProxy;
    readonly config?: string;
    readonly mesh?: string;
    readonly networks?: string;
    readonly kubernetes?: Readonly<Record<string, string>>;
    /** Istio's internal model: services that the test put into a registry of its own. */
    readonly services?: string;
    readonly instances?: string;
  };
}

interface CaseProxy {
  readonly id: string;
  readonly type: string;
  readonly dnsDomain: string;
  readonly configNamespace: string;
  readonly ipAddresses: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly locality?: Partial<Record<"region" | "zone" | "subZone", string>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Proxies whose mesh is plain configuration. */
export function isClaimed({ inputs }: MeshCase): boolean {
  const isPlain = inputs.services === undefined && inputs.instances === undefined;
  return isPlain && ["sidecar", "waypoint", "router"].includes(inputs.proxy.type);
}

/** Changes names in every text of a case. */
export type Rename = (text: string) => string;

/**
 * Istio keeps clusters in the order in which it discovered them, which a case does not report; here they are kept in order of their names.
 * The first is renamed to come last where the order is to be the other one.
 */
export function clusterOrders({ inputs: { kubernetes = {} } }: MeshCase): readonly Rename[] {
  const [first, second] = Object.keys(kubernetes);
  const asGiven: Rename = (text) => text;
  return first === undefined || second === undefined
    ? [asGiven]
    : [asGiven, (text) => text.replaceAll(new RegExp(`\\b${first}\\b`, "g"), `z-${first}`)];
}

/** @throws when an object is refused. */
export async function loadCore(directory: string, one: MeshCase, rename: Rename = (text) => text): Promise<Core> {
  const core = new Core({ features: parseFeatures({ ...ambientOf(one), ...textsOf(one.features) }) });
  for (const changes of await loadChanges(directory, one, rename)) {
    const [refusal] = core.apply(changes);
    if (refusal !== undefined) throw refusal.error;
  }
  return core;
}

/** A proxy that does not name its cluster is in the only one. */
export function proxyOf({ inputs: { proxy } }: MeshCase, rename: Rename = (text) => text): Proxy {
  const { type, id, dnsDomain, ipAddresses, labels, configNamespace } = proxy;
  const metadata = JSON.parse(rename(JSON.stringify(proxy.metadata))) as CaseProxy["metadata"];
  const node = parseNode({
    id: [type, ipAddresses[0] ?? "", id, dnsDomain].join("~"),
    locality: localityOf(proxy.locality),
    metadata: { NAMESPACE: configNamespace, INSTANCE_IPS: ipAddresses.join(","), ...metadata, LABELS: labels ?? {} },
  });
  return node.clusterId === "" ? { ...node, clusterId: "Kubernetes" } : node;
}

/** One mesh a cluster; configuration belongs to the only one, else to one of its own that has no workloads. */
async function loadChanges(directory: string, one: MeshCase, rename: Rename): Promise<readonly (readonly Change[])[]> {
  const { inputs } = one;
  const read = async (path: string | undefined) =>
    path === undefined ? "" : rename(await readFile(join(directory, path), "utf8"));
  const mesh = inputs.mesh === undefined ? {} : (JSON.parse(await read(inputs.mesh)) as JsonObject);
  const networks = inputs.networks === undefined ? {} : (JSON.parse(await read(inputs.networks)) as JsonObject);
  const config = documents(await read(inputs.config));
  const clusters = Object.entries(inputs.kubernetes ?? {}).map(([cluster, path]) => [rename(cluster), path] as const);
  const [first = "Kubernetes"] = clusters.map(([cluster]) => cluster);
  const configCluster = clusters.length > 1 ? "Kubernetes" : first;
  const paths = new Map<string, string | undefined>([[configCluster, undefined], ...clusters]);
  return Promise.all(
    [...paths].map(async ([cluster, path]) => {
      const objects = [...(cluster === configCluster ? config : []), ...documents(await read(path))];
      const env = { ...ambientOf(one), ...textsOf(one.features), CLUSTER_ID: cluster };
      return createMesh(env).apply({ put: objects, mesh: mesh as never, networks: networks as never });
    }),
  );
}

/** Objects without a timestamp are as old as their place in the list, but Gateways, which istiod's tests have ordered by name. */
function documents(text: string): readonly KubeObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null)
    .map((object, index) => {
      const place = object.kind === "Gateway" ? 0 : index;
      const creationTimestamp = new Date(Date.UTC(2026, 0, 1) + place * 1000).toISOString();
      return { ...kindOf(object), ...object, metadata: { creationTimestamp, ...object.metadata } } as KubeObject;
    });
}

/** The objects of tests with gateways have no domain, so that short hosts of theirs end at their namespace. */
export function withoutDomain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value).replaceAll(".svc.cluster.local", "")) as Value;
}

/** Objects that a test handed to a client as Go values lack their kind. */
function kindOf(object: object): { readonly apiVersion: string; readonly kind: string } {
  const { spec = {}, status = {} } = object as { readonly spec?: object; readonly status?: object };
  if ("addressType" in object) return { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" };
  if ("containers" in spec) return { apiVersion: "v1", kind: "Pod" };
  if (["ports", "clusterIP", "externalIPs"].some((field) => field in spec))
    return { apiVersion: "v1", kind: "Service" };
  return { apiVersion: "v1", kind: "addresses" in status || "podCIDR" in spec ? "Node" : "Namespace" };
}

function localityOf(locality: CaseProxy["locality"] = {}): Locality {
  return parseLocality([locality.region ?? "", locality.zone ?? "", locality.subZone ?? ""].join("/"));
}

/** Tests with waypoints switch the ambient mesh on in code of their own, and no more of it than they name. */
function ambientOf({ inputs, features = {} }: MeshCase): Readonly<Record<string, string>> {
  if (inputs.proxy.type !== "waypoint" && !("ENABLE_INGRESS_WAYPOINT_ROUTING" in features)) return {};
  return {
    PILOT_ENABLE_AMBIENT: "true",
    AMBIENT_ENABLE_MULTI_NETWORK: "false",
    AMBIENT_ENABLE_MULTI_NETWORK_WAYPOINT: "false",
    PILOT_ENABLE_SENDING_HBONE: "false",
  };
}

/** Switches of Istio's code that a case names in place of the variable they are read from. */
const variables: Readonly<Record<string, string>> = { "features.TraceSampling": "PILOT_TRACE_SAMPLING" };

function textsOf(features: MeshCase["features"] = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(features).map(([name, value]) => [variables[name] ?? name, String(value)]));
}
