/**
 * The registries' description of a proxy's workload: its labels and its locality. Observed per proxy outside of any view, because the answer
 * is part of the facts that a view reads of its proxy (proxy-answers.ts).
 */
import { type Endpoint, type Labels, type Locality, metadataMap, parseLocality } from "@flotilla/model";
import { query, type View } from "./view.ts";

const topology = {
  region: "topology.kubernetes.io/region",
  zone: "topology.kubernetes.io/zone",
  subzone: "topology.istio.io/subzone",
  cluster: "topology.istio.io/cluster",
  network: "topology.istio.io/network",
  node: "kubernetes.io/hostname",
} as const;

interface Registered {
  readonly shard: string;
  readonly endpoint: Endpoint;
}

/** The endpoints at the addresses of a proxy, in the services of its namespace. */
const endpointsOfProxy = query<readonly Registered[]>("endpoints-of-proxy", (view) => {
  const { namespace } = view.proxy;
  return view.proxy.addresses.flatMap((address) =>
    view
      .address(address)
      .filter((use) => use.namespace === namespace)
      .flatMap((use) =>
        (view.endpoints(use).get(use.shard) ?? [])
          .filter(({ addresses }) => addresses.includes(address))
          .map((endpoint) => ({ shard: use.shard, endpoint })),
      ),
  );
});

/**
 * The labels that policies, routes and services select a proxy by: those of its pod or WorkloadEntry now, whatever the agent read when it
 * started, and those of its place in the mesh. Pods without an endpoint have the labels that their agent reports.
 */
export const proxyLabels = query<Labels>("proxy-labels", (view) => {
  const { proxy } = view;
  const registered = view.read(endpointsOfProxy);
  const own = registered.find((one) => isPod(view, one)) ?? registered.find(isMachine);
  const { region, zone, subzone } = view.read(proxyLocality) ?? proxy.locality;
  const labels = own === undefined ? proxy.labels : { ...staticLabels(view), ...own.endpoint.labels };
  const network = labels[topology.network] || own?.endpoint.network || proxy.network;
  const places = { region, zone, subzone, network, cluster: proxy.clusterId, node: proxy.metadataText("NODE_NAME") };
  const known = Object.entries(topology).flatMap(([place, label]) => {
    const value = places[place as keyof typeof topology];
    return value === "" ? [] : [[label, value] as const];
  });
  return { ...labels, ...Object.fromEntries(known) };
});

/** As in istiod, a pod is the proxy's own by its name too. */
function isPod({ proxy }: View, { shard, endpoint }: Registered): boolean {
  const [kind, namespace, name] = (endpoint.definedBy ?? "").split("/");
  return shard === `Kubernetes/${proxy.clusterId}` && kind === "Pod" && proxy.id === `${name}.${namespace}`;
}

/** differs: in istiod the labels of inline endpoints of a ServiceEntry, mostly none, take the place of those that the proxy reports. */
function isMachine({ shard, endpoint }: Registered): boolean {
  return shard.startsWith("External/") && endpoint.definedBy?.startsWith("WorkloadEntry/") === true;
}

/** Labels that were set for the agent itself, beside those of its pod. */
function staticLabels({ proxy }: View): Labels {
  return metadataMap({ STATIC_LABELS: proxy.metadata("STATIC_LABELS") }, "STATIC_LABELS");
}

/**
 * The locality of a pod by its node, or by its labels: agents outside of clouds cannot determine it, so that istiod asks the registry
 * first. Available for pods with an endpoint, in the ambient mesh for all; elsewhere it is that of a ServiceEntry's endpoint or WorkloadEntry.
 */
export const proxyLocality = query<Locality | undefined>(
  "proxy-locality",
  (view) => {
    const registered = view.read(endpointsOfProxy);
    const shard = `Kubernetes/${view.proxy.clusterId}`;
    const found =
      placeOf(registered.filter((one) => one.shard === shard && isNoOtherPod(view, one)).map(localityOf)) ??
      placeOf(view.proxy.addresses.flatMap((address) => podsAt(view, address))) ??
      placeOf(registered.filter((one) => one.shard.startsWith("External/")).map(localityOf));
    if (found !== undefined) return found;
    const label = (name: string) => view.proxy.label(name) ?? "";
    const [region, zone, subzone] = [label(topology.region), label(topology.zone), label(topology.subzone)];
    return region + zone + subzone === "" ? undefined : { region, zone, subzone };
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

function isNoOtherPod(view: View, one: Registered): boolean {
  return one.endpoint.definedBy === undefined || isPod(view, one);
}

function localityOf({ endpoint }: Registered): string {
  return endpoint.locality;
}

/** The first that names a region. */
function placeOf(localities: readonly string[]): Locality | undefined {
  return localities.map(parseLocality).find(({ region }) => region !== "");
}

/** Localities of the pods at an address. */
function podsAt(view: View, address: string): readonly string[] {
  const { namespace, clusterId } = view.proxy;
  return view
    .workloadsAt(address)
    .flatMap((uid) => view.workload(uid) ?? [])
    .filter((one) => one.kind === "Pod" && one.namespace === namespace && one.clusterId === clusterId)
    .map(({ locality }) => locality ?? "");
}
