/** Wasm modules and Lua: which proxies have them, in which order, and what is sent of them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config, Proxy } from "@flotilla/model";
import { bytesToJson, type JsonObject, type JsonValue, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { extensionNames } from "@flotilla/xds/client";
import type { Core } from "../../app/core.ts";
import { aConfig, aMesh, aPort, aRouter, aService, aSidecar, namesOf, resourceOf } from "../../testing/mesh.ts";

const prefix = "extensions.istio.io/trafficextension/";
const plugin = (name: string, spec: JsonObject = {}, namespace = "shop") =>
  aConfig("WasmPlugin", namespace, name, { url: `oci://registry.example/${name}`, ...spec });
const lua = (name: string, spec: JsonObject = {}) =>
  aConfig("TrafficExtension", "shop", name, { lua: { inlineCode: "-- nothing" }, ...spec });
const mesh = aConfig("MeshConfig", "istio-system", "istio", { rootNamespace: "istio-system" });
const db = aService("db", "shop", { ports: [aPort("tcp", 3306, "TCP")], defaultAddress: "10.96.0.3" });
const backend = aService("backend", "shop", { defaultAddress: "10.96.0.4" });

/** Short names of extensions in a listener, in order; of each chain once. */
function extensionsIn(core: Core, proxy: Proxy, listener: string): readonly string[] {
  const found = resourceOf(core, proxy, typeUrl.listener, listener);
  return extensionsOf(found === undefined ? [] : [found]);
}

function extensionsOf(listeners: readonly JsonObject[]): readonly string[] {
  const names: string[] = [];
  const visit = (value: JsonValue): void => {
    if (Array.isArray(value)) for (const one of value) visit(one);
    else if (typeof value === "object" && value !== null) {
      const { name } = value as { name?: JsonValue };
      if (typeof name === "string" && name.startsWith(prefix)) names.push(shortName(name));
      for (const one of Object.values(value)) visit(one);
    }
  };
  for (const listener of listeners) visit(listener);
  return [...new Set(names)];
}

const shortName = (name: string) => name.slice(prefix.length).replace("~istio-translated-wasmplugin", "");

function configOf(core: Core, proxy: Proxy, name: string, isProven = true): JsonObject | undefined {
  const resourceName = `${prefix}${name}~istio-translated-wasmplugin`;
  const subject = { ...core.subjectOf(proxy), isProven };
  const found = core.resources(subject, typeUrl.extensionConfig, nameSet([resourceName]))?.byName.get(resourceName);
  if (found === undefined) return undefined;
  return (bytesToJson(typeUrl.extensionConfig, found.bytes) as { typedConfig: JsonObject }).typedConfig;
}

const vmOf = (config: JsonObject | undefined) =>
  (config as { config: { vmConfig: { code: JsonObject; environmentVariables: JsonObject } } }).config.vmConfig;

describe("extensions of a filter chain", () => {
  const cases: readonly {
    readonly name: string;
    readonly objects: readonly Config[];
    readonly web?: readonly string[];
    readonly tcp?: readonly string[];
  }[] = [
    {
      name: "stand in the order of phases, then of priority, then of age and name",
      objects: [
        plugin("none"),
        plugin("stats", { phase: "STATS" }),
        plugin("b", { phase: "AUTHN", priority: 1 }),
        plugin("first", { phase: "AUTHN", priority: 2 }),
        plugin("a@9", { phase: "AUTHN", priority: 1 }),
        plugin("unranked", { phase: "AUTHN" }),
        plugin("negative", { phase: "AUTHN", priority: -5 }),
      ],
      web: ["shop.first", "shop.b", "shop.a", "shop.negative", "shop.unranked", "shop.stats", "shop.none"],
    },
    {
      name: "of the proxy's namespace stand before those of the mesh, others do not count",
      objects: [plugin("mesh", {}, "istio-system"), plugin("own"), plugin("foreign", {}, "other")],
      web: ["shop.own", "istio-system.mesh"],
    },
    {
      name: "are those that select the workload",
      objects: [
        plugin("web", { selector: { matchLabels: { app: "web" } } }),
        plugin("db", { selector: { matchLabels: { app: "db" } } }),
        plugin("gateway", { targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "g" }] }),
      ],
      web: ["shop.web"],
    },
    {
      name: "match by mode and port",
      objects: [
        plugin("client", { match: [{ mode: "CLIENT" }] }),
        plugin("server", { match: [{ mode: "SERVER" }] }),
        plugin("port", { match: [{ mode: "CLIENT", ports: [{ number: 80 }] }] }),
        plugin("other-port", { match: [{ ports: [{ number: 81 }] }] }),
        plugin("either", { match: [{ mode: "SERVER" }, { ports: [{ number: 80 }] }] }),
      ],
      web: ["shop.client", "shop.either", "shop.port"],
    },
    {
      name: "on connections are those of type NETWORK, on requests both",
      objects: [plugin("net", { type: "NETWORK" }), plugin("http"), lua("lua")],
      web: ["shop.net", "shop.http", "shop.lua"],
      tcp: ["shop.net"],
    },
    {
      name: "without code, with code that is too long, or from no URL while requests may pass, are none",
      objects: [
        aConfig("TrafficExtension", "shop", "nothing", {}),
        lua("long", { lua: { inlineCode: "x".repeat(65_537) } }),
        plugin("open", { url: "10.0.0.1:5000/%zz", failStrategy: "FAIL_OPEN" }),
        plugin("closed", { url: "10.0.0.1:5000/x" }),
      ],
      web: ["shop.closed"],
    },
  ];
  for (const { name, objects, web, tcp } of cases)
    it(name, () => {
      const core = aMesh(mesh, db, backend, ...objects);
      const proxy = aSidecar("shop");
      if (web !== undefined) assert.deepEqual(extensionsIn(core, proxy, "0.0.0.0_80"), web);
      if (tcp !== undefined) assert.deepEqual(extensionsIn(core, proxy, "10.96.0.3_3306"), tcp);
    });

  it("of a gateway are those for clients, on every server", () => {
    const server = (number: number) => ({
      port: { number, name: `https-${number}`, protocol: "HTTPS" },
      tls: { mode: "SIMPLE", credentialName: "pair" },
    });
    const core = aMesh(
      mesh,
      backend,
      aService("gateway", "shop", { ports: [aPort("https", 443, "HTTPS")], labelSelectors: { app: "gateway" } }),
      aConfig("Gateway", "shop", "g", {
        selector: { app: "gateway" },
        servers: ["a.example", "b.example"].map((host) => ({ ...server(443), hosts: [host] })),
      }),
      plugin("net", { type: "NETWORK" }),
      plugin("http", { match: [{ mode: "CLIENT" }] }),
      plugin("inbound", { match: [{ mode: "SERVER" }] }),
    );
    const router = aRouter("shop");
    const [listener = ""] = namesOf(core, router, typeUrl.listener);
    const { filterChains = [] } = resourceOf(core, router, typeUrl.listener, listener) as {
      filterChains?: JsonObject[];
    };
    assert.deepEqual(
      filterChains.map((chain) => extensionsOf([chain])),
      [
        ["shop.net", "shop.http"],
        ["shop.net", "shop.http"],
      ],
    );
  });

  it("are found by a client in its listeners", () => {
    const core = aMesh(mesh, backend, plugin("a"));
    const listener = resourceOf(core, aSidecar("shop"), typeUrl.listener, "0.0.0.0_80");
    assert.deepEqual(extensionNames([listener ?? {}]).map(shortName), ["shop.a"]);
  });
});

describe("the configuration of a module", () => {
  const urls = [
    ["registry.example/a:v1", "oci://registry.example/a:v1"],
    ["HTTPS://files.example/a.wasm", "https://files.example/a.wasm"],
    ["oci://registry.example/a@sha256:1", "oci://registry.example/a@sha256:1"],
  ] as const;
  for (const [url, uri] of urls)
    it(`is fetched from ${uri} where its object says ${url}`, () => {
      const { code } = vmOf(configOf(aMesh(mesh, plugin("a", { url })), aSidecar("shop"), "shop.a"));
      assert.deepEqual(code, { remote: { httpUri: { uri, cluster: "_", timeout: "30s" } } });
    });

  it("may be a file of the proxy", () => {
    const { code } = vmOf(
      configOf(aMesh(mesh, plugin("a", { url: "file:///opt/a.wasm" })), aSidecar("shop"), "shop.a"),
    );
    assert.deepEqual(code, { local: { filename: "/opt/a.wasm" } });
  });

  for (const [type, layer] of [
    ["HTTP", "http"],
    ["NETWORK", "network"],
  ] as const)
    it(`refuses everything on ${layer} where its URL is none, and its object reports it`, () => {
      const core = aMesh(mesh, plugin("a", { type, url: "http://exa mple" }));
      const config = configOf(core, aSidecar("shop"), "shop.a");
      assert.equal(config?.["@type"], `type.googleapis.com/envoy.extensions.filters.${layer}.rbac.v3.RBAC`);
      assert.deepEqual(config["rules"], {});
      const subject = core.subjectOf(aSidecar("shop"));
      const name = `${prefix}shop.a~istio-translated-wasmplugin`;
      const watched = core.observe(subject, typeUrl.extensionConfig, nameSet([name]), () => undefined);
      const found = core.findings().map(({ object, message }) => `${object}: ${message}`);
      assert.deepEqual(found, ["WasmPlugin/shop/a: http://exa mple is no URL of a module"]);
      watched?.release();
    });

  it("has the variables of its object's vmConfig in its environment", () => {
    const env = [
      { name: "LEVEL", value: "debug" },
      { name: "POD_NAME", valueFrom: "HOST" },
    ];
    const core = aMesh(mesh, plugin("a", { vmConfig: { env } }), plugin("b"));
    const environmentOf = (name: string) => vmOf(configOf(core, aSidecar("shop"), name)).environmentVariables;
    const always = { ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION: "" };
    assert.deepEqual(environmentOf("shop.b"), { keyValues: always });
    assert.deepEqual(environmentOf("shop.a"), { hostEnvKeys: ["POD_NAME"], keyValues: { ...always, LEVEL: "debug" } });
  });

  it("is not sent to proxies that the object does not select", () => {
    const core = aMesh(mesh, plugin("a", { selector: { matchLabels: { app: "db" } } }), plugin("b", {}, "other"));
    for (const name of ["shop.a", "other.b"]) assert.equal(configOf(core, aSidecar("shop"), name), undefined);
  });

  it("has equal bytes for equal values, whatever the order they are written in", () => {
    const valueOf = (pluginConfig: JsonObject) =>
      (configOf(aMesh(mesh, plugin("a", { pluginConfig })), aSidecar("shop"), "shop.a") as { config: JsonObject })
        .config["configuration"];
    const written = { b: [{ d: 1, c: "é" }], a: null };
    assert.deepEqual(valueOf(written), valueOf({ a: null, b: [{ c: "é", d: 1 }] }));
    assert.equal((valueOf(written) as JsonObject)["value"], '{"a":null,"b":[{"c":"é","d":1}]}');
  });
});

describe("credentials of a registry", () => {
  const docker = '{"auths":{}}';
  const secret = (name: string, namespace: string, spec: JsonObject) =>
    aConfig("Secret", namespace, name, { type: "kubernetes.io/dockerconfigjson", data: spec });
  const core = (imagePullSecret: string) =>
    aMesh(
      mesh,
      secret("pull", "shop", { ".dockerconfigjson": btoa(docker) }),
      secret("pull", "other", { ".dockerconfigjson": btoa("of another namespace") }),
      secret("pull%east", "shop", { ".dockerconfigjson": btoa("of the cluster east") }),
      aConfig("Secret", "shop", "opaque", { type: "Opaque", data: { ".dockerconfigjson": btoa(docker) } }),
      plugin("a", { imagePullSecret }),
    );
  const cases = [
    ["of the object's namespace are sent", "pull", true, docker],
    ["are of the object's namespace, whatever it names", "kubernetes://other/pull", true, docker],
    ["are not sent to callers that proved nothing", "pull", false, ""],
    ["are of a Secret of their own type", "opaque", true, ""],
    ["may be missing", "missing", true, ""],
  ] as const;
  const sentTo = (proxy: Proxy, asked: string, isProven: boolean) => {
    const { environmentVariables } = vmOf(configOf(core(asked), proxy, "shop.a", isProven));
    return (environmentVariables as { keyValues: Record<string, string> }).keyValues[
      "ISTIO_META_WASM_IMAGE_PULL_SECRET"
    ];
  };
  for (const [name, asked, isProven, want] of cases)
    it(name, () => assert.equal(sentTo(aSidecar("shop"), asked, isProven), want));
  it("are those of the proxy's cluster, else those of the own one", () => {
    const sent = ["east", "west"].map((CLUSTER_ID) => sentTo(aSidecar("shop", { CLUSTER_ID }), "pull", true));
    assert.deepEqual(sent, ["of the cluster east", docker]);
  });
});
