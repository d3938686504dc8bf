/** Objects that are meant for selected proxies: which hold for a proxy, and in which order. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config, Proxy } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aRouter, aSidecar, put } from "../../testing/mesh.ts";
import { snapshotOf } from "../../testing/snapshot.ts";
import { query } from "../view.ts";
import { envoyFilters } from "./envoy-filters.ts";
import { scopeName, sidecarOf } from "./sidecar.ts";
import { trafficExtensions } from "./traffic-extensions.ts";

const web = { labels: { app: "web" } };
const other = { labels: { app: "other" } };
const placed = (place: string) => place.split("/") as [namespace: string, name: string];
const sidecar = (place: string, spec: JsonObject = {}) => aConfig("Sidecar", ...placed(place), spec);
const patch = (place: string, spec: JsonObject = {}) => aConfig("EnvoyFilter", ...placed(place), spec);
const plugin = (place: string, spec: JsonObject = {}) =>
  aConfig("WasmPlugin", ...placed(place), { url: "https://x/m.wasm", ...spec });
const lua = (place: string, spec: JsonObject = {}) =>
  aConfig("TrafficExtension", ...placed(place), { lua: { inlineCode: "-- code" }, ...spec });
const gatewayRef = { group: "gateway.networking.k8s.io", kind: "Gateway", name: "edge" };

describe("the Sidecar of a proxy", () => {
  const cases: readonly (readonly [string, readonly Config[], string | undefined, Proxy?])[] = [
    ["is the one that selects it", [sidecar("shop/a"), sidecar("shop/b", { workloadSelector: web })], "shop/b"],
    ["else that of its namespace", [sidecar("shop/b", { workloadSelector: other }), sidecar("shop/c")], "shop/c"],
    ["else that of the root namespace", [sidecar("istio-system/r"), sidecar("bank/a")], "istio-system/r"],
    [
      "of the root namespace selects no proxy elsewhere",
      [sidecar("istio-system/r", { workloadSelector: web })],
      undefined,
    ],
    ["of several is the oldest", [sidecar("shop/young@9"), sidecar("shop/old@1")], "shop/old"],
    [
      "of several that select it is the oldest",
      [sidecar("shop/young@9", { workloadSelector: web }), sidecar("shop/old@1", { workloadSelector: web })],
      "shop/old",
    ],
    ["is none for gateways", [sidecar("shop/a")], undefined, aRouter("shop")],
  ];
  for (const [name, configs, want, proxy] of cases)
    it(name, () => {
      const { key } = snapshotOf({ changes: put(...configs), ...(proxy && { proxy }) }).read(sidecarOf) ?? {};
      assert.equal(key && `${key.namespace}/${key.name}`, want);
    });

  it("names the scope that proxies share", () => {
    const changes = put(sidecar("istio-system/r"), sidecar("shop/b", { workloadSelector: other }));
    const scopes = [
      aSidecar("shop"),
      aSidecar("shop", { LABELS: { app: "other" } }),
      aSidecar("bank"),
      aRouter("shop"),
    ];
    assert.deepEqual(
      scopes.map((proxy) => snapshotOf({ changes, proxy }).read(scopeName)),
      ["shop|istio-system|r|", "shop|shop|b|", "bank|istio-system|r|", "shop|||router"],
    );
  });
});

describe("the EnvoyFilters of a proxy", () => {
  const cases: readonly (readonly [string, readonly Config[], readonly string[], Proxy?])[] = [
    [
      "those of its namespace and the root's, which comes first",
      [patch("shop/a"), patch("bank/b"), patch("istio-system/r@9")],
      ["r", "a"],
    ],
    ["priority decides before the namespace", [patch("shop/a", { priority: -1 }), patch("istio-system/r")], ["a", "r"]],
    ["of equal ones the oldest comes first", [patch("shop/a@5"), patch("shop/b@1")], ["b", "a"]],
    [
      "those that select it",
      [patch("shop/a", { workloadSelector: web }), patch("shop/b", { workloadSelector: other })],
      ["a"],
    ],
    ["a proxy of the root namespace has each once", [patch("istio-system/r")], ["r"], aSidecar("istio-system")],
    ["those for a Gateway are for its proxies only", [patch("shop/a", { targetRefs: [gatewayRef] })], []],
  ];
  for (const [name, configs, want, proxy] of cases)
    it(name, () => {
      const found = snapshotOf({ changes: put(...configs), ...(proxy && { proxy }) }).read(envoyFilters);
      assert.deepEqual(
        found.map(({ key }) => key.name),
        want,
      );
    });

  it("a Gateway's, for the proxy that was deployed for it", () => {
    const label = { "gateway.networking.k8s.io/gateway-name": "edge" };
    const proxy = aRouter("shop", { LABELS: label });
    const changes = put(
      patch("shop/a", { targetRefs: [gatewayRef] }),
      patch("shop/b", { targetRefs: [{ ...gatewayRef, name: "x" }] }),
    );
    assert.deepEqual(
      snapshotOf({ changes, proxy })
        .read(envoyFilters)
        .map(({ key }) => key.name),
      ["a"],
    );
  });
});

const ownExtensions = query("own-extensions", (view) => view.read(trafficExtensions, ""));

describe("the extensions of a proxy", () => {
  const found = (...configs: readonly Config[]) => snapshotOf({ changes: put(...configs) }).read(ownExtensions);
  const cases: readonly (readonly [string, readonly Config[], readonly string[]])[] = [
    [
      "the highest priority first, none is lowest",
      [plugin("shop/a"), plugin("shop/b", { priority: 1 }), plugin("shop/c", { priority: 2 })],
      ["c", "b", "a"],
    ],
    [
      "its namespace before the root's, then by age",
      [plugin("istio-system/r@1"), plugin("shop/a@9"), plugin("shop/b@5")],
      ["b", "a", "r"],
    ],
    [
      "plugins and extensions together",
      [lua("shop/l@1", { priority: 5 }), plugin("shop/p", { priority: 6 })],
      ["p", "l"],
    ],
    ["those that select it", [plugin("shop/a", { selector: { matchLabels: other.labels } }), lua("shop/b")], ["b"]],
    ["none without code", [plugin("shop/a", { url: "" }), lua("shop/b", { lua: { inlineCode: "" } })], []],
    [
      "no Lua beyond 64 KiB",
      [
        lua("shop/a", { lua: { inlineCode: "x".repeat(65_537) } }),
        lua("shop/b", { lua: { inlineCode: "x".repeat(65_536) } }),
      ],
      ["b"],
    ],
  ];
  for (const [name, configs, want] of cases)
    it(name, () => {
      const names = found(...configs).map(({ object }) => object.split("/").at(-1));
      assert.deepEqual(names, want);
    });

  const urls: readonly (readonly [string, string | undefined])[] = [
    ["https://example/m.wasm", "https://example/m.wasm"],
    ["OCI://Registry/Image:1", "oci://Registry/Image:1"],
    ["file:///m.wasm", "file:///m.wasm"],
    ["registry/image:tag", "oci://registry/image:tag"],
    ["image", "oci://image"],
    ["127.0.0.1:5000/image", undefined],
    ["https://a b", undefined],
    ["https://a/%zz", undefined],
    ["https://a/%41", "https://a/%41"],
  ];
  for (const [url, want] of urls)
    it(`the code of ${url}`, () => {
      const [extension] = found(plugin("shop/a", { url }));
      assert.ok(extension?.config.kind === "wasm");
      assert.equal(extension.config.url, want);
    });

  it("a WasmPlugin has a name of its own over ECDS, its phase and layer", () => {
    const [one] = found(plugin("shop/a", { phase: "AUTHZ", type: "NETWORK" }));
    assert.deepEqual(
      [one?.resourceName, one?.pluginName, one?.object, one?.phase, one?.config.layer],
      [
        "extensions.istio.io/trafficextension/shop.a~istio-translated-wasmplugin",
        "shop.a~istio-translated-wasmplugin",
        "WasmPlugin/shop/a",
        "authz",
        "network",
      ],
    );
    const phases = ["AUTHN", "STATS", "UNSPECIFIED_PHASE"].map((phase) => found(plugin("shop/a", { phase }))[0]?.phase);
    assert.deepEqual(phases, ["authn", "stats", "unspecified"]);
  });

  it("a targetRef counts where there are no targetRefs", () => {
    const ref = (name: string) => ({ ...gatewayRef, name });
    const proxy = aRouter("shop", { LABELS: { "gateway.networking.k8s.io/gateway-name": "edge" } });
    const targeted = (spec: JsonObject) =>
      snapshotOf({ changes: put(plugin("shop/a", spec)), proxy }).read(ownExtensions).length;
    assert.deepEqual(
      [{ targetRef: ref("edge") }, { targetRef: ref("x") }, { targetRef: ref("edge"), targetRefs: [ref("x")] }].map(
        targeted,
      ),
      [1, 0, 0],
    );
  });
});
