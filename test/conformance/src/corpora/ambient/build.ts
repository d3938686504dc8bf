/** Objects through the registry and the ambient rules, as the control plane takes them, with the rest of the mesh as the case gives it. */
import {
  type Binding,
  bindingLabels,
  bindService,
  bindWorkload,
  entryTraits,
  entryVisibility,
  gatewayFacts,
  gatewayNameLabel,
  hboneGatewaysOf,
  ingressUsesWaypoint,
  type ServiceFacts,
  serviceAddress,
  serviceFacts,
  type Waypoint,
  workloadAddress,
  workloadFacts,
} from "@flotilla/ambient";
import {
  type Change,
  type Config,
  type KubeObject,
  type Labels,
  matchesLabels,
  type Service,
  type Workload,
} from "@flotilla/model";
import { fromJson, type JsonObject, type JsonValue, toJson } from "@flotilla/proto";
import { AddressSchema } from "@flotilla/proto/istio/workload/workload_pb";
import { ServiceEntryVisibilitySchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { createMesh } from "@flotilla/registry";
import { configOf } from "./policies.ts";
import {
  type BuildCase,
  type ContextObject,
  type GoNode,
  type GoServiceInfo,
  type GoWaypoint,
  goKinds,
  istioObject,
} from "./types.ts";

const env = { PILOT_ENABLE_AMBIENT: "true", CLUSTER_ID: "cluster0", DOMAIN_SUFFIX: "domain.suffix" };
const network = "testnetwork";

type Fixture = readonly ContextObject[];

export function buildCase(
  { operation, object, context, expected }: BuildCase,
  fixture: Fixture,
): { readonly want: unknown; readonly got: unknown } {
  const wanted = [expected.returns ?? []].flat() as unknown as readonly JsonObject[];
  const isService =
    operation.includes("ervice of") || operation.includes("ervices of") || operation === "conditions of a Service";
  const changes = meshOf(operation, object, context, fixture);
  const got = isService ? servicesOf(changes, object, context) : workloadsOf(changes, context, fixture);
  return { want: sorted(wanted.map(isService ? wantedService : wantedWorkload)), got: sorted(got) };
}

/** The address, and why it is not bound to the waypoint that it names. */
interface Built {
  readonly address: JsonValue;
  readonly problem: unknown;
}

function sorted(all: readonly Built[]): readonly Built[] {
  return all.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function wantedService(returned: JsonObject): Built {
  const { Service, Waypoint } = (returned["ServiceInfo"] ?? returned) as { Service: JsonValue; Waypoint?: never };
  return wantedOf({ service: Service }, Waypoint);
}

function wantedWorkload(returned: JsonObject): Built {
  const { Workload: workload, Waypoint } = returned as { readonly Workload: JsonValue; readonly Waypoint?: never };
  return wantedOf({ workload }, Waypoint);
}

function wantedOf(address: JsonObject, waypoint: { readonly Error?: unknown } | undefined): Built {
  return { address: toJson(AddressSchema, fromJson(AddressSchema, address)), problem: waypoint?.Error ?? null };
}

function builtOf(address: ReturnType<typeof serviceAddress>, { problem }: Binding): Built {
  const error = problem && { Message: problem.message, Reason: problem.reason };
  return { address: toJson(AddressSchema, address), problem: error ?? null };
}

/** The changes that the registry publishes of the object, with the present services, slices and nodes. */
function meshOf(operation: string, object: JsonObject, context: Fixture, fixture: Fixture): readonly Change[] {
  const others = [...fixture, ...context].flatMap(({ type, value }) => kubeObjects(type, value));
  const mesh = createMesh(env);
  mesh.apply({ put: others, mesh: {}, networks: {} });
  const kind = operation.replace(/^.* an? (Kubernetes )?/, "");
  return mesh.apply({ put: [kubeObject(kind, object)] });
}

function kubeObject(kind: string, object: JsonObject): KubeObject {
  if (kind === "ServiceEntry" || kind === "WorkloadEntry") return istioObject(kind, object);
  const apiVersion = kind === "EndpointSlice" ? "discovery.k8s.io/v1" : "v1";
  return { apiVersion, kind, ...object } as unknown as KubeObject;
}

function kubeObjects(type: string, value: never): readonly KubeObject[] {
  switch (type) {
    case "v1.Namespace":
    case "v1.EndpointSlice":
      return [kubeObject(type.slice("v1.".length), value)];
    case "ambient.Node": {
      const { Name, Locality } = value as GoNode;
      const labels = {
        "topology.kubernetes.io/region": Locality.region ?? "",
        "topology.kubernetes.io/zone": Locality.zone ?? "",
      };
      return [kubeObject("Node", { metadata: { name: Name, labels } })];
    }
    case "model.ServiceInfo":
      return selectorlessService(value);
    default:
      return [];
  }
}

/** Others select their workloads by facts. */
function selectorlessService({ LabelSelector, PortNames = {}, Service, Source }: GoServiceInfo): readonly KubeObject[] {
  if (LabelSelector !== undefined || Source?.Kind === goKinds.serviceEntry) return [];
  const { name, namespace, ports = [] } = Service;
  const named = ports.map(({ servicePort, targetPort = 0 }) => ({
    ...{ name: PortNames[String(servicePort)]?.PortName ?? "", port: servicePort, targetPort },
  }));
  return [kubeObject("Service", { metadata: { name, namespace }, spec: { ports: named } })];
}

function workloadsOf(changes: readonly Change[], context: Fixture, fixture: Fixture): readonly Built[] {
  const found = changes.flatMap((change) => (change.type === "workload" && change.op === "put" ? [change] : []));
  return found.map(({ key: { uid }, value }) => {
    const own = waypointsOf(context).find(
      ({ namespace, name }) => namespace === value.namespace && name === value.labels[gatewayNameLabel],
    );
    const binding =
      own === undefined
        ? bindWorkload({ labels: bindingLabels(value) }, value.namespace, lookups(context, value.namespace))
        : {};
    const facts = workloadFacts(value, {
      uid,
      services: isSelectable(value) ? selecting(context, value) : [],
      policies: [],
      trustDomain: "",
      ...(binding.waypoint === undefined ? {} : { waypoint: gatewayFacts(binding.waypoint) }),
      ...networkGateway(value.network, fixture),
      ...(own?.inbound === undefined ? {} : { applicationTunnel: own.inbound }),
    });
    return builtOf(workloadAddress(facts), binding);
  });
}

function isSelectable({ kind }: Workload): boolean {
  return kind === "Pod" || kind === "WorkloadEntry";
}

function networkGateway(of: string, fixture: Fixture) {
  const gateways = fixture
    .filter(({ type }) => type === "v1.Gateway")
    .flatMap(({ value }) => {
      const object = kubeObject("Gateway", value);
      return hboneGatewaysOf({
        ...configOf("KubernetesGateway", object, object["spec"] as object),
        status: object["status"],
      });
    });
  const gateway = gateways.find((one) => of !== network && one.network === of);
  return gateway && { networkGateway: { destination: gateway.destination, port: gateway.port } };
}

function selecting(context: Fixture, { namespace, labels }: Workload): readonly ServiceFacts[] {
  return objectsOf<GoServiceInfo>(context, "model.ServiceInfo").flatMap((info) => {
    const selector = info.LabelSelector?.Labels;
    if (selector === undefined || info.Service.namespace !== namespace || !matchesLabels(selector, labels)) return [];
    return [factsOf(info, selector)];
  });
}

function factsOf({ PortNames = {}, Service, Source }: GoServiceInfo, selector: Labels): ServiceFacts {
  const { name, namespace, hostname, ports = [] } = Service;
  return {
    ...{ name, namespace, hostname, selector, addresses: [], subjectAltNames: [], ipFamilies: [] },
    ...{ kind: Source?.Kind === goKinds.serviceEntry ? "ServiceEntry" : "Service" },
    ...{ namespaceOnly: false, isCanonical: false, ingressUsesWaypoint: false },
    ports: ports.map(({ servicePort, targetPort }) => {
      const { PortName = "", TargetPortName } = PortNames[String(servicePort)] ?? {};
      return {
        ...{ number: servicePort, name: PortName, protocol: "TCP" },
        ...(targetPort === undefined ? {} : { target: targetPort }),
        ...(TargetPortName === undefined ? {} : { targetName: TargetPortName }),
      };
    }),
  };
}

function servicesOf(changes: readonly Change[], object: JsonObject, context: Fixture): readonly Built[] {
  const found = changes.flatMap((change) => (change.type === "service" && change.op === "put" ? [change.value] : []));
  return found
    .filter(({ resolution }) => resolution !== "alias")
    .map((service) => builtService(service, object, context));
}

function builtService(service: Service, object: JsonObject, context: Fixture): Built {
  const { namespace, labels, hostname, registry } = service;
  const { home } = lookups(context, namespace);
  const isEntry = registry === "External";
  const config: Config | undefined = isEntry ? entryConfig(object) : undefined;
  const annotations = config?.annotations ?? service.kubernetes?.annotations ?? {};
  const isNamespaceOnly = isEntry && visibility(context, namespace, home.labels) === "namespace";
  const binding = bindService({ labels, annotations }, namespace, lookups(context, namespace), isNamespaceOnly);
  const facts = serviceFacts(service, {
    network,
    ...(config === undefined ? {} : { entry: entryTraits(config as Config<object>, hostname) }),
    binding,
    ingressUsesWaypoint: ingressUsesWaypoint(labels, home.labels) === true,
    // Canonical among several is decided apart.
    isCanonical: !isEntry,
    namespaceOnly: isNamespaceOnly,
  });
  return builtOf(serviceAddress(facts), binding);
}

function entryConfig(object: JsonObject): Config {
  const entry = istioObject("ServiceEntry", object);
  return { ...configOf("ServiceEntry", entry, entry["spec"]), status: entry["status"] };
}

function visibility(context: Fixture, namespace: string, labels: Labels) {
  const [mesh] = objectsOf<{ readonly serviceEntryVisibility?: JsonValue }>(context, "meshwatcher.MeshConfigResource");
  const json = mesh?.serviceEntryVisibility;
  const settings = json === undefined ? undefined : fromJson(ServiceEntryVisibilitySchema, json);
  return entryVisibility(settings, namespace, labels);
}

function lookups(context: Fixture, namespace: string) {
  const home = objectsOf<KubeObject>(context, "v1.Namespace").find(({ metadata }) => metadata.name === namespace);
  const { labels = {}, annotations = {} } = home?.metadata ?? {};
  const all = waypointsOf(context);
  return {
    home: { labels, annotations },
    waypoint: (wanted: { readonly namespace: string; readonly name: string }) =>
      all.find((one) => one.namespace === wanted.namespace && one.name === wanted.name),
  };
}

function waypointsOf(context: Fixture): readonly Waypoint[] {
  return objectsOf<GoWaypoint>(context, "ambient.Waypoint").map(
    ({ Address, AllowedRoutes, DefaultBinding, Named, TrafficType }) => ({
      ...{ namespace: Named.Namespace, name: Named.Name, destination: Address.hostname, traffic: TrafficType },
      port: Address.hboneMtlsPort ?? 0,
      attachment: {
        from: AllowedRoutes?.FromNamespaces ?? "Same",
        ...(AllowedRoutes?.Selector === undefined ? {} : { selector: { matchLabels: AllowedRoutes.Selector } }),
      },
      ...(DefaultBinding === undefined
        ? {}
        : { inbound: { protocol: DefaultBinding.Protocol === 1 ? "PROXY" : "NONE", port: DefaultBinding.Port ?? 0 } }),
    }),
  );
}

function objectsOf<Value>(context: Fixture, type: string): readonly Value[] {
  return context.filter((one) => one.type === type).map(({ value }) => value as Value);
}
