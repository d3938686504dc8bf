import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { builtInClasses, type GatewayClassRules } from "@flotilla/gateway-api";
import { defaultMeshConfig } from "@flotilla/model";
import { parseInjectionConfig } from "../config.ts";
import { InjectionError } from "../errors.ts";
import type { Json } from "../pod.ts";
import { overlayProblem } from "./customize.ts";
import { isDeployed, type KubeGateway, ownershipOf, parametersOf } from "./gateway.ts";
import { keepSelector, type ManagedGatewayInputs, type ManagedGatewaySettings, renderGateway } from "./render.ts";
import { servicePorts } from "./service-ports.ts";

const builtIn = (file: string): string => readFileSync(new URL(`../templates/${file}`, import.meta.url), "utf8");
const templates = { "kube-gateway": builtIn("kube-gateway.yaml"), waypoint: builtIn("kube-gateway.yaml") };
const values = JSON.parse(builtIn("values.json")) as { readonly global?: Json };
const config = parseInjectionConfig(JSON.stringify({ templates }), JSON.stringify(values));
const classes = builtInClasses({
  ...{ defaultClass: "istio", defaultController: "istio.io/gateway-controller" },
  ...{ allowsManual: true, udpRoutes: false, multiNetwork: true, waypoints: true, ambientMultiNetwork: true },
});
const settings: ManagedGatewaySettings = {
  ...{ revision: "canary", nativeSidecars: true, platform: "", compliancePolicy: "", clusterId: "east" },
  ...{ kubernetesVersion: 133, copiesMetadata: true, quic: false, waypoints: false },
};

function gatewayOf(metadata: Json = {}, spec: Json = {}): KubeGateway {
  const listeners = [{ name: "http", port: 80, protocol: "HTTP" }];
  return {
    metadata: { name: "web", namespace: "shop", uid: "u-1", ...metadata },
    spec: { gatewayClassName: "istio", listeners, ...spec },
  };
}

function rendered(
  gateway: KubeGateway,
  {
    more = {},
    set = settings,
    config: given = config,
  }: {
    readonly more?: Partial<ManagedGatewayInputs>;
    readonly set?: ManagedGatewaySettings;
    readonly config?: typeof config;
  } = {},
): ReadonlyMap<string, Json> {
  const inputs: ManagedGatewayInputs = {
    ...{ gateway, rules: classes.get("istio") as GatewayClassRules, otherListeners: [], overlays: [] },
    ...{ namespaceAnnotations: {}, mesh: defaultMeshConfig, proxyConfig: defaultMeshConfig["defaultConfig"] as Json },
    ...more,
  };
  return new Map(renderGateway(inputs, given, set).map((object) => [String(object["kind"]), object]));
}

const metadataOf = (object: Json | undefined) => object?.["metadata"] as Record<string, Record<string, string>>;
const specOf = (object: Json | undefined) => object?.["spec"] as Json;

describe("objects deployed for a Gateway", () => {
  it("is an account, a workload and a Service, owned by the Gateway and labelled as managed", () => {
    const objects = rendered(gatewayOf());
    assert.deepEqual([...objects.keys()], ["ServiceAccount", "Deployment", "Service"]);
    for (const object of objects.values()) {
      const { name, namespace, labels, ownerReferences } = metadataOf(object);
      assert.deepEqual([name, namespace], ["web-istio", "shop"]);
      assert.equal(labels?.["gateway.istio.io/managed"], "istio.io-gateway-controller");
      assert.deepEqual(ownerReferences, [
        { apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", name: "web", uid: "u-1" },
      ]);
    }
    assert.deepEqual(specOf(objects.get("Service"))["ports"], [
      { name: "status-port", port: 15_021, protocol: "TCP", appProtocol: "tcp" },
      { name: "http", port: 80, protocol: "TCP", appProtocol: "http" },
    ]);
  });

  it("has nothing for a document without content, which a condition of a template may leave", () => {
    const text = `---\n# none\n---\n${templates["kube-gateway"]}`;
    const given = parseInjectionConfig(
      JSON.stringify({ templates: { ...templates, "kube-gateway": text } }),
      JSON.stringify(values),
    );
    assert.deepEqual([...rendered(gatewayOf(), { config: given }).keys()], ["ServiceAccount", "Deployment", "Service"]);
  });

  it("has the names, the account and the type of Service that the Gateway's annotations say", () => {
    const objects = rendered(
      gatewayOf({
        annotations: {
          "gateway.istio.io/name-override": "edge",
          "gateway.istio.io/service-account": "edge-sa",
          "networking.istio.io/service-type": "ClusterIP",
        },
      }),
    );
    assert.equal(metadataOf(objects.get("Deployment"))["name"], "edge");
    assert.equal(metadataOf(objects.get("ServiceAccount"))["name"], "edge-sa");
    assert.equal(specOf(objects.get("Service"))["type"], "ClusterIP");
    const { "gateway.istio.io/name-override": override, ...others } =
      metadataOf(objects.get("Service"))["annotations"] ?? {};
    assert.deepEqual([override, others], [undefined, { "networking.istio.io/service-type": "ClusterIP" }]);
  });

  it("carries the labels of the infrastructure, else the Gateway's own where they are copied", () => {
    const own = { labels: { team: "a" } };
    const infrastructure = { labels: { team: "b", "gateway.networking.k8s.io/x": "y" } };
    const teams = (gateway: KubeGateway, copiesMetadata = true) => {
      const { labels = {} } = metadataOf(rendered(gateway, { set: { ...settings, copiesMetadata } }).get("Service"));
      return [labels["team"], labels["gateway.networking.k8s.io/x"]];
    };
    assert.deepEqual(teams(gatewayOf(own)), ["a", undefined]);
    assert.deepEqual(teams(gatewayOf(own), false), [undefined, undefined]);
    assert.deepEqual(teams(gatewayOf(own, { infrastructure })), ["b", undefined]);
  });

  it("names the mesh's network where it is a waypoint that names none", () => {
    const rules = classes.get("istio-waypoint") as GatewayClassRules;
    const inNetwork = (network: string) =>
      parseInjectionConfig(
        JSON.stringify({ templates }),
        JSON.stringify({ ...values, global: { ...values.global, network } }),
      );
    const networkOf = (network: string, metadata: Json = {}) => {
      const gateway = gatewayOf({ name: "way", ...metadata }, { gatewayClassName: "istio-waypoint" });
      const deployment = rendered(gateway, { more: { rules }, config: inNetwork(network) }).get("Deployment");
      return metadataOf(deployment)["labels"]?.["topology.istio.io/network"];
    };
    const own = { labels: { "topology.istio.io/network": "own" } };
    assert.deepEqual([networkOf("east"), networkOf(""), networkOf("east", own)], ["east", undefined, "own"]);
  });

  it("is a waypoint for its class, which no ztunnel redirects and callers find nearby", () => {
    const listeners = [{ name: "mesh", port: 15_008, protocol: "HBONE" }];
    const gateway = gatewayOf({ name: "way" }, { gatewayClassName: "istio-waypoint", listeners });
    const rules = classes.get("istio-waypoint") as GatewayClassRules;
    const objects = rendered(gateway, { more: { rules }, set: { ...settings, waypoints: true } });
    for (const object of objects.values()) {
      const { name, labels } = metadataOf(object);
      assert.deepEqual([name, labels?.["gateway.istio.io/managed"]], ["way", "istio.io-mesh-controller"]);
    }
    const service = objects.get("Service");
    assert.equal(metadataOf(service)["annotations"]?.["networking.istio.io/traffic-distribution"], "PreferClose");
    assert.deepEqual(specOf(service)["ports"], [
      { name: "status-port", port: 15_021, protocol: "TCP", appProtocol: "tcp" },
      { name: "mesh", port: 15_008, protocol: "TCP", appProtocol: "hbone" },
    ]);
    const { metadata, spec } = specOf(objects.get("Deployment"))["template"] as {
      readonly metadata: { readonly labels: Json };
      readonly spec: {
        readonly containers: readonly { readonly args: readonly string[] }[];
        readonly securityContext?: Json;
      };
    };
    assert.equal(metadata.labels["istio.io/dataplane-mode"], "none");
    assert.deepEqual(spec.containers[0]?.args.slice(0, 6), [
      ...["proxy", "waypoint", "--domain", "$(POD_NAMESPACE).svc.cluster.local"],
      ...["--serviceCluster", "way.$(POD_NAMESPACE)"],
    ]);
    assert.equal(spec.securityContext, undefined);
  });

  it("takes one address as that of the load balancer", () => {
    const service = rendered(gatewayOf({}, { addresses: [{ value: "192.0.2.1" }] })).get("Service");
    assert.equal(specOf(service)["loadBalancerIP"], "192.0.2.1");
  });

  it("is what parameters make of it, an autoscaler and a disruption budget only when they are named", () => {
    const overlays = [
      { deployment: "spec: {replicas: 2}" },
      { deployment: "spec: {replicas: 4}", service: "spec: {ports: [{port: 80, nodePort: 30080}]}" },
      { horizontalPodAutoscaler: "spec: {maxReplicas: 5}" },
    ];
    const objects = rendered(gatewayOf(), { more: { overlays } });
    assert.equal(specOf(objects.get("Deployment"))["replicas"], 4);
    assert.equal(specOf(objects.get("HorizontalPodAutoscaler"))["maxReplicas"], 5);
    assert.equal(objects.has("PodDisruptionBudget"), false);
    const ports = specOf(objects.get("Service"))["ports"] as readonly Json[];
    assert.deepEqual(ports.map(({ port, nodePort }) => [port, nodePort]).sort(), [
      [15_021, undefined],
      [80, 30_080],
    ]);
  });

  const refused = {
    "another name": [{ deployment: "metadata: {name: other}" }, /deployment: metadata\.name must not be changed/],
    "managed fields": [{ service: "metadata: {managedFields: [{}]}" }, /metadata\.managedFields/],
    "an unknown key": [{ daemonSet: "{}" }, /unsupported overlay "daemonSet"/],
    "no YAML": [{ service: "a: [" }, /service is no YAML/],
    "no object": [{ service: "[]" }, /service is no object/],
  } as const;
  for (const [what, [overlay, reason]] of Object.entries(refused))
    it(`is refused with ${what} in its parameters`, () => {
      const isRefused = (error: unknown) =>
        error instanceof InjectionError && error.code === "INJECT_BAD_GATEWAY" && reason.test(error.reason);
      assert.throws(() => rendered(gatewayOf(), { more: { overlays: [overlay] } }), isRefused);
      assert.match(overlayProblem(overlay) ?? "", reason);
    });

  it("has nothing against parameters that change a part of what is deployed", () => {
    assert.equal(
      overlayProblem({ deployment: "spec: {replicas: 2}", service: "metadata: {labels: {a: b}}" }),
      undefined,
    );
  });

  it("keeps the selector of a workload of an older version, whose label the pods carry on", () => {
    const labels = { "istio.io/gateway-name": "web" };
    const running = { spec: { selector: { matchLabels: labels }, template: { metadata: { labels } } } };
    const deployment = rendered(gatewayOf()).get("Deployment") as Json;
    const kept = specOf(keepSelector(deployment, running)) as {
      readonly selector: Json;
      readonly template: { readonly metadata: { readonly labels: Json } };
    };
    assert.deepEqual(kept.selector, { matchLabels: labels });
    assert.equal(kept.template.metadata.labels["istio.io/gateway-name"], "web");
    assert.equal(keepSelector(deployment, { spec: { selector: { matchLabels: { app: "web" } } } }), deployment);
  });
});

describe("a Gateway", () => {
  it("is deployed unless its addresses lead to what is there already", () => {
    const deployed = (addresses: readonly Json[], allowsManual = true) =>
      isDeployed(gatewayOf({}, { addresses }), allowsManual);
    assert.equal(deployed([]), true);
    assert.equal(deployed([{ value: "192.0.2.1" }]), true);
    assert.equal(deployed([{ type: "Hostname", value: "gw" }]), false);
    assert.equal(deployed([{ value: "192.0.2.1" }, { value: "192.0.2.2" }]), false);
    assert.equal(deployed([{ type: "Hostname", value: "gw" }], false), true);
  });

  it("belongs to the controller with the larger version", () => {
    const owner = (text?: string) =>
      ownershipOf(
        gatewayOf(text === undefined ? {} : { annotations: { "gateway.istio.io/controller-version": text } }),
      );
    assert.deepEqual(
      [owner(), owner("1"), owner("5"), owner("6"), owner("v7")],
      ["take-over", "take-over", "ours", "theirs", "theirs"],
    );
  });

  it("names its parameters by a ConfigMap, and nothing else", () => {
    const reference = (group: string, kind: string) =>
      parametersOf(gatewayOf({}, { infrastructure: { parametersRef: { group, kind, name: "options" } } }));
    assert.equal(parametersOf(gatewayOf()), undefined);
    assert.equal(reference("", "ConfigMap"), "options");
    assert.deepEqual(reference("example.com", "Options"), { unknown: "example.com/Options" });
  });
});

describe("ports of a Gateway's Service", () => {
  const names = (listeners: Parameters<typeof servicePorts>[0], quic = false) =>
    servicePorts(listeners, quic)
      .slice(1)
      .map(({ Name, Port, Protocol }) => `${Name}:${Port}/${Protocol}`);
  it("are one a port, with names that Kubernetes takes", () => {
    const http = { port: 80, protocol: "HTTP" };
    assert.deepEqual(
      names([
        { ...http, name: "a" },
        { ...http, name: "b" },
        { port: 81, protocol: "HTTP" },
      ]),
      ["a:80/TCP", "http-2:81/TCP"],
    );
    assert.deepEqual(
      names([
        { ...http, name: "a.b" },
        { ...http, port: 81, name: "a-b" },
      ]),
      ["a-b:80/TCP", "a-b-81:81/TCP"],
    );
    const long = "x".repeat(70);
    const [first = "", second = ""] = names([
      { ...http, name: long },
      { ...http, port: 81, name: long },
    ]);
    assert.deepEqual([first.split(":")[0]?.length, second.split(":")[0]?.length], [63, 63]);
    assert.ok(second.startsWith(`${"x".repeat(60)}-81:`));
  });

  it("are on UDP for listeners of that protocol, beside others of the same number", () => {
    const dns = (name: string, protocol: string) => ({ name, port: 53, protocol });
    const listeners = [dns("udp", "UDP"), dns("tcp", "TCP"), dns("more", "UDP")];
    assert.deepEqual(names(listeners), ["udp:53/UDP", "tcp:53/TCP"]);
  });

  it("are on UDP too for HTTPS where HTTP/3 is on", () => {
    const listeners = [{ name: "https", port: 443, protocol: "HTTPS" }];
    assert.deepEqual(names(listeners, true), ["https:443/TCP", "https-quic:443/UDP"]);
    assert.deepEqual(names(listeners), ["https:443/TCP"]);
  });
});
