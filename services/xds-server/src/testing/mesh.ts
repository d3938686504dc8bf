/** Builders for tests of the pure core: small meshes that can be seen at a glance. */
import {
  type Change,
  type Config,
  type Endpoint,
  type Proxy,
  parseNode,
  parseProtocol,
  type Service,
} from "@flotilla/model";
import { bytesToJson, type JsonObject, type TypeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { Core } from "../app/core.ts";

/** A service `name.namespace` on HTTP port 80, unless stated otherwise. */
export function aService(name: string, namespace: string, more: Partial<Service> = {}): Service {
  return {
    hostname: `${name}.${namespace}.svc.cluster.local`,
    namespace,
    name,
    registry: "Kubernetes",
    ports: [aPort("http", 80, "HTTP")],
    resolution: "client-side",
    meshExternal: false,
    defaultAddress: "0.0.0.0",
    clusterVips: {},
    creationTimeMs: 0,
    labels: {},
    exportTo: [],
    serviceAccounts: [],
    definedBy: `Service/${namespace}/${name}`,
    ...more,
  };
}

export function aPort(name: string, number: number, protocol: string): Service["ports"][number] {
  return { name, number, protocol: parseProtocol(protocol) };
}

/** An object of a configuration kind; `name` may be `name@seconds` to give its age. */
export function aConfig(kind: string, namespace: string, name: string, spec: JsonObject): Config {
  const [plain = "", seconds = "0"] = name.split("@");
  const key = { kind, namespace, name: plain };
  return { key, labels: {}, annotations: {}, creationTimeMs: Number(seconds) * 1000, spec };
}

export function aSidecar(
  namespace: string,
  metadata: Readonly<Record<string, unknown>> = {},
  address = "10.0.0.1",
): Proxy {
  return parseNode({
    id: `sidecar~${address}~app.${namespace}~${namespace}.svc.cluster.local`,
    locality: { region: "", zone: "", subzone: "" },
    metadata: { NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", LABELS: { app: "web" }, ...metadata },
  });
}

/** A gateway `app: gateway`, as `aSidecar` otherwise. */
export function aRouter(
  namespace: string,
  metadata: Readonly<Record<string, unknown>> = {},
  address = "10.0.0.9",
): Proxy {
  return parseNode({
    id: `router~${address}~gateway.${namespace}~${namespace}.svc.cluster.local`,
    locality: { region: "", zone: "", subzone: "" },
    metadata: { NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", LABELS: { app: "gateway" }, ...metadata },
  });
}

export function put(...values: readonly (Service | Config)[]): readonly Change[] {
  return values.map((value): Change => {
    if ("key" in value) return { type: "config", op: "put", key: value.key, value };
    const { namespace, hostname, name, registry } = value;
    const key = { shard: `${registry}/Kubernetes`, namespace, hostname, name };
    return { type: "service", op: "put", key, value };
  });
}

/** A core that holds the values. @throws when one is refused. */
export function aMesh(...values: readonly (Service | Config)[]): Core {
  const core = new Core();
  apply(core, ...values);
  return core;
}

export function apply(core: Core, ...values: readonly (Service | Config)[]): void {
  const [refusal] = core.apply(put(...values));
  if (refusal !== undefined) throw refusal.error;
}

/** A ready endpoint of the port `http`. */
export function anEndpoint(address: string, more: Partial<Endpoint> = {}): Endpoint {
  return {
    addresses: [address],
    servicePortName: "http",
    port: 8080,
    labels: {},
    serviceAccount: "",
    network: "",
    locality: "",
    clusterId: "Kubernetes",
    weight: 1,
    tlsMode: "disabled",
    namespace: "shop",
    workloadName: "",
    health: "healthy",
    ...more,
  };
}

/** The names of all resources of a type that a proxy gets without asking for any. */
export function namesOf(core: Core, proxy: Proxy, typeUrl: TypeUrl): readonly string[] {
  return [...(core.resources(core.subjectOf(proxy), typeUrl)?.byName.keys() ?? [])];
}

/** One resource as canonical JSON; undefined when the proxy has none of the name. */
export function resourceOf(core: Core, proxy: Proxy, typeUrl: TypeUrl, name: string): JsonObject | undefined {
  const subject = core.subjectOf(proxy);
  const names = core.serves(subject, typeUrl) === "wildcard" ? undefined : nameSet([name]);
  const resource = core.resources(subject, typeUrl, names)?.byName.get(name);
  return resource === undefined ? undefined : (bytesToJson(typeUrl, resource.bytes) as JsonObject);
}
