/** Resources that an east-west gateway is sent: global services of its network, for callers in other networks. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Config, parseNode, type Service } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { createMesh } from "@flotilla/registry";
import { Core } from "../../app/core.ts";
import { parseFeatures } from "../../snapshot/features.ts";
import { anObject } from "../../testing/kube-mesh.ts";
import { aConfig, anEndpoint, aPort, apply, aService, namesOf, resourceOf } from "../../testing/mesh.ts";

const gateway = parseNode({
  id: "waypoint~10.0.0.9~ew.istio-system~istio-system.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: {
    ...{ NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes", NETWORK: "net1", REQUESTED_NETWORK_VIEW: "net1" },
    LABELS: {
      "gateway.networking.k8s.io/gateway-name": "ew",
      "gateway.istio.io/managed": "istio.io-eastwest-controller",
    },
  },
});
const features = { PILOT_ENABLE_AMBIENT: "true", AMBIENT_ENABLE_MULTI_NETWORK: "true" };
const mesh = {
  serviceScopeConfigs: [{ scope: "GLOBAL", servicesSelector: { matchLabels: { "istio.io/global": "true" } } }],
};
const global = { "istio.io/global": "true" };
const bound = { ...global, "istio.io/use-waypoint": "waypoint" };
const vips = (address: string) => ({ clusterVips: { Kubernetes: [address] } });

const web = aService("web", "shop", {
  ...{ labels: global, ...vips("10.96.0.1") },
  ports: [aPort("http", 80, "HTTP"), aPort("tcp", 9000, "TCP"), aPort("dns", 53, "UDP")],
});
const own = aService("own", "shop", vips("10.96.0.2"));
const waypointService = aService("waypoint", "shop", { ...vips("10.96.0.4"), ports: [aPort("mesh", 15008, "TCP")] });
const waypoint: Config = {
  ...aConfig("KubernetesGateway", "shop", "waypoint", {
    gatewayClassName: "istio-waypoint",
    listeners: [{ name: "mesh", port: 15008, protocol: "HBONE" }],
  }),
  status: { addresses: [{ type: "Hostname", value: waypointService.hostname }] },
};

function aMesh(env: Readonly<Record<string, string>>, ...objects: readonly (Service | Config)[]): Core {
  const core = new Core({ features: parseFeatures({ ...features, ...env }) });
  core.apply(createMesh(features).apply({ put: [anObject("Namespace", "/shop", {})], mesh, networks: {} }));
  apply(core, ...objects);
  const key = { shard: "Kubernetes/Kubernetes", namespace: web.namespace, hostname: web.hostname };
  const near = anEndpoint("10.0.0.1", { takesHbone: true, network: "net1" });
  const far = anEndpoint("10.8.0.1", { takesHbone: true, network: "net2" });
  core.apply([{ type: "endpoints", op: "put", key, value: [near, far] }]);
  return core;
}

const clusters = (core: Core) => namesOf(core, gateway, typeUrl.cluster).filter((name) => name.includes("|"));
const internal = (core: Core) => resourceOf(core, gateway, typeUrl.listener, "main_internal");
const chainOf = (service: typeof web, port: number) => `inbound-vip|${port}|tcp|${service.hostname}`;

describe("an east-west gateway", () => {
  it("passes connections on to global services alone, whatever their ports carry", () => {
    const core = aMesh({}, web, own);
    assert.deepEqual(clusters(core), [chainOf(web, 80), chainOf(web, 9000)]);
    const { filterChains } = internal(core) as unknown as {
      readonly filterChains: readonly { readonly name: string }[];
    };
    assert.deepEqual(
      filterChains.map(({ name }) => name),
      [chainOf(web, 80), chainOf(web, 9000)],
    );
    assert.doesNotMatch(JSON.stringify(filterChains), /http_connection_manager|set_dst_address/);
  });

  it("has the endpoints of its own network, without tunnels of its own", () => {
    const core = aMesh({}, web);
    const assignment = JSON.stringify(resourceOf(core, gateway, typeUrl.endpoint, chainOf(web, 80)));
    assert.match(assignment, /"serverListenerName":"forward_inner_connect","endpointId":"10\.0\.0\.1:/);
    assert.doesNotMatch(assignment, /10\.8\.0\.1|connect_originate/);
    const forward = resourceOf(core, gateway, typeUrl.cluster, "forward_inner_connect");
    assert.equal(forward?.["transportSocket"], undefined);
    const names = namesOf(core, gateway, typeUrl.listener);
    assert.deepEqual([...names].sort(), ["connect_terminate", "forward_inner_connect", "main_internal"]);
  });

  for (const [asks, expected] of [
    [{}, chainOf(web, 80)],
    [{ "istio.io/ingress-use-waypoint": "true" }, chainOf(waypointService, 15008)],
  ] as const)
    it(`leads callers that no waypoint stood before to that of the service; gateways to ${expected}`, () => {
      const core = aMesh({}, { ...web, labels: { ...bound, ...asks } }, waypointService, waypoint);
      assert.ok(clusters(core).includes(chainOf(waypointService, 15008)));
      const { map } = entriesOf(internal(core));
      const match = map[`${web.hostname}:80`]?.matcher;
      const sources = match?.matcherTree.exactMatchMap.map ?? {};
      assert.equal(sources["waypoint"]?.action?.name, chainOf(web, 80));
      assert.equal(sources["gateway"]?.action?.name, expected);
      assert.equal(match?.onNoMatch?.action?.name, chainOf(waypointService, 15008));
    });

  it("keeps one chain to nowhere without global services", () => {
    const text = JSON.stringify(internal(aMesh({}, own)));
    assert.match(text, /"name":"virtualInbound-blackhole"/);
    assert.match(text, /"cluster":"BlackHoleCluster"/);
  });

  it("is a waypoint like any other without several networks", () => {
    const names = namesOf(aMesh({ AMBIENT_ENABLE_MULTI_NETWORK: "false" }, web), gateway, typeUrl.listener);
    assert.ok(names.includes("connect_originate") && !names.includes("forward_inner_connect"));
  });
});

type Listener = Parameters<typeof aConfig>[3];

/** TLS that its listeners pass on by the server name, outside of tunnels. */
describe("TLS through an east-west gateway", () => {
  const backend = aService("api", "shop", { ports: [aPort("tls", 443, "TLS"), aPort("http", 80, "HTTP")] });
  const listenerOf = (more: Listener): Listener => ({
    ...{ name: "tls", port: 8443, protocol: "TLS", tls: { mode: "Passthrough" }, hostname: "*.example" },
    allowedRoutes: { namespaces: { from: "All" } },
    ...more,
  });
  const hbone = { name: "mesh", port: 15008, protocol: "HBONE" };
  const aGateway = (listener: Listener): Config =>
    aConfig("KubernetesGateway", "istio-system", "ew", {
      gatewayClassName: "istio-east-west",
      listeners: [hbone, listener],
    });
  const route = aConfig("TLSRoute", "shop", "api", {
    parentRefs: [{ name: "ew", namespace: "istio-system" }],
    hostnames: ["api.example"],
    rules: [{ backendRefs: [{ name: "api", port: 443 }] }],
  });
  const own = aService("ew", "istio-system", {
    ports: [8443, 8080, 15008].map((number) => aPort(`p${number}`, number, "TCP")),
  });

  /** `captured`: a ztunnel ends tunnels for the backend. */
  function meshWith(listener: Listener, captured = false, ...more: readonly Config[]): Core {
    const core = aMesh({}, backend, own, aGateway(listener), route, ...more);
    const put = (service: Service, address: string, takesHbone: boolean) => {
      const key = { shard: "Kubernetes/Kubernetes", namespace: service.namespace, hostname: service.hostname };
      const endpoints = service.ports.map(({ name: servicePortName, number: port }) =>
        anEndpoint(address, { network: "net1", takesHbone, servicePortName, port }),
      );
      core.apply([{ type: "endpoints", op: "put", key, value: endpoints }]);
    };
    put(backend, "10.0.0.7", captured);
    put(own, "10.0.0.9", false);
    return core;
  }

  const listeners = (core: Core) => namesOf(core, gateway, typeUrl.listener).filter((name) => name.includes("_8"));
  const opensTunnels = (core: Core) =>
    [typeUrl.cluster, typeUrl.listener].map((type) => namesOf(core, gateway, type).includes("connect_originate"));
  const target = `outbound|443||${backend.hostname}`;

  it("has a listener for the names of routes, and the clusters of their destinations", () => {
    const core = meshWith(listenerOf({}));
    assert.deepEqual(listeners(core), ["0.0.0.0_8443"]);
    const listener = resourceOf(core, gateway, typeUrl.listener, "0.0.0.0_8443");
    assert.equal(listener?.["trafficDirection"], "INBOUND");
    assert.match(JSON.stringify(listener), /"serverNames":\["api\.example"\].*"cluster":"outbound\|443\|\|api\.shop/);
    assert.deepEqual(clusters(core), [target, `outbound|80||${backend.hostname}`]);
    assert.deepEqual(opensTunnels(core), [false, false]);
  });

  it("leads it to workloads of the ambient mesh in tunnels of its own", () => {
    const core = meshWith(listenerOf({}), true);
    assert.deepEqual(opensTunnels(core), [true, true]);
    const assignment = JSON.stringify(resourceOf(core, gateway, typeUrl.endpoint, target));
    assert.match(assignment, /"serverListenerName":"connect_originate","endpointId":"10\.0\.0\.7:/);
  });

  it("knows the endpoints of headless services: callers mean the gateway by their destination", () => {
    const core = meshWith(listenerOf({}));
    assert.equal(resourceOf(core, gateway, typeUrl.cluster, target)?.["type"], "EDS");
    apply(core, { ...backend, resolution: "passthrough" });
    assert.equal(resourceOf(core, gateway, typeUrl.cluster, target)?.["type"], "EDS");
  });

  it("knows the mesh's services by the server names of proxies in other networks", () => {
    const options = { "gateway.istio.io/listener-protocol": "auto-passthrough" };
    const core = meshWith(listenerOf({ tls: { mode: "Passthrough", options }, hostname: "*.local" }));
    const name = `outbound_.443_._.${backend.hostname}`;
    const listener = resourceOf(core, gateway, typeUrl.listener, "0.0.0.0_8443");
    assert.match(JSON.stringify(listener), new RegExp(`"serverNames":\\["${name}"\\]`));
    assert.ok(namesOf(core, gateway, typeUrl.cluster).includes(name));
  });

  it("has no listener for HTTP, whichever API asks for it", () => {
    assert.deepEqual(listeners(meshWith({ ...hbone, name: "web", port: 8080, protocol: "HTTP" })), []);
    const selector = { "gateway.networking.k8s.io/gateway-name": "ew" };
    const servers = [
      { port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["*"] },
      {
        port: { number: 8444, name: "https", protocol: "HTTPS" },
        hosts: ["*"],
        tls: { mode: "SIMPLE", credentialName: "web" },
      },
    ];
    const written = aConfig("Gateway", "istio-system", "written", { selector, servers });
    assert.deepEqual(listeners(meshWith(listenerOf({}), false, written)), ["0.0.0.0_8443"]);
  });
});

interface OnMatch {
  readonly action?: { readonly name: string };
  readonly matcher?: Matcher;
}

interface Matcher {
  readonly matcherTree: { readonly exactMatchMap: { readonly map: Readonly<Record<string, OnMatch>> } };
  readonly onNoMatch?: OnMatch;
}

function entriesOf(listener: unknown) {
  return (listener as { readonly filterChainMatcher: Matcher }).filterChainMatcher.matcherTree.exactMatchMap;
}
