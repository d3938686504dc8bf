import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Proxy } from "@flotilla/model";
import { decode, type JsonObject, typeUrl } from "@flotilla/proto";
import { ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { nameSet } from "@flotilla/xds";
import { Core } from "../../app/core.ts";
import { aConfig, aMesh, apply, aRouter, aService, aSidecar } from "../../testing/mesh.ts";
import type { PatchJson } from "../../testing/patches.ts";

const services = Array.from({ length: 60 }, (_, i) => aService(`svc-${i}`, "shop"));
const host = (i: number) => `svc-${i}.shop.svc.cluster.local`;
const named = (i: number) => `outbound|80||${host(i)}`;

const filter = (name: string, patches: readonly PatchJson[], more: JsonObject = {}, namespace = "shop") =>
  aConfig("EnvoyFilter", namespace, name, { ...more, configPatches: patches as unknown as JsonObject[] });
const merge = (cluster: object, value: object): PatchJson => ({
  applyTo: "CLUSTER",
  match: { cluster },
  patch: { operation: "MERGE", value },
});
const timeout = (i: number, seconds: number) =>
  merge({ service: host(i) }, { connect_timeout: `${seconds}s`, alt_stat_name: "patched" });
const hostTimeout = (i: number, seconds: number): PatchJson => ({
  applyTo: "HTTP_ROUTE",
  match: { routeConfiguration: { vhost: { name: `${host(i)}:80` } } },
  patch: { operation: "MERGE", value: { route: { timeout: `${seconds}s` } } },
});

/** Kept, as a stream does. */
function setOf(core: Core, proxy: Proxy, type: string, names?: readonly string[]) {
  const wanted = names && nameSet(names);
  const observed = core.observe(core.subjectOf(proxy), type, wanted, () => undefined);
  assert.ok(observed !== undefined);
  return observed;
}

function cluster(core: Core, proxy: Proxy, name: string) {
  const found = core.resource(core.subjectOf(proxy), typeUrl.cluster, name);
  return found && decode(ClusterSchema, found.bytes);
}

describe("patches of EnvoyFilters", () => {
  it("leave proxies that they do not select with the identical resources of before", () => {
    const core = aMesh(...services);
    const [patched, other] = [aSidecar("shop"), aSidecar("depot", {}, "10.0.0.2")];
    const before = setOf(core, other, typeUrl.cluster).value;
    apply(core, filter("f", [timeout(1, 7)]));
    assert.equal(setOf(core, other, typeUrl.cluster).value, before);
    assert.equal(cluster(core, patched, named(1))?.connectTimeout?.seconds, 7n);
    assert.equal(cluster(core, other, named(1))?.connectTimeout?.seconds, 10n);
  });

  it("are applied once for all proxies that match alike", () => {
    const core = aMesh(...services, filter("f", [timeout(1, 7), hostTimeout(1, 5)], {}, "istio-system"));
    const [one, two] = [aSidecar("shop"), aSidecar("shop", { LABELS: { app: "other" } }, "10.0.0.2")];
    for (const [type, names] of [[typeUrl.cluster], [typeUrl.route, ["80"]]] as const) {
      const [a, b] = [setOf(core, one, type, names).value, setOf(core, two, type, names).value];
      assert.equal(a, b);
    }
    const [a, b] = [one, two].map((proxy) => core.resource(core.subjectOf(proxy), typeUrl.cluster, named(1)));
    assert.equal(a, b);
  });

  it("build what they patch anew when one changes, and nothing else", () => {
    const core = aMesh(...services, filter("f", [timeout(1, 7)]), filter("g", [timeout(2, 7)]));
    const proxy = aSidecar("shop");
    const observed = setOf(core, proxy, typeUrl.cluster);
    const before = new Map(observed.value.byName);
    apply(core, filter("g", [timeout(2, 8)]));
    observed.again();
    const after = observed.value.byName;
    assert.deepEqual(
      [...after.keys()].filter((name) => after.get(name) !== before.get(name)),
      [named(2)],
    );
  });

  it("concern no cluster that they cannot match when one changes", () => {
    const ofRoot = (name: string, i: number, seconds: number) =>
      filter(name, [timeout(i, seconds)], {}, "istio-system");
    const core = aMesh(...services, ofRoot("f", 1, 7), ofRoot("g", 2, 7), filter("own", [timeout(3, 7)]));
    const proxy = aSidecar("shop");
    const observed = setOf(core, proxy, typeUrl.cluster);
    const before = core.stats().computations;
    apply(core, ofRoot("g", 2, 8));
    observed.again();
    const spent = core.stats().computations - before;
    assert.ok(spent < 12, `${spent} computations, with ${services.length} clusters`);
    assert.equal(cluster(core, proxy, named(2))?.connectTimeout?.seconds, 8n);
    apply(core, ofRoot("g", 4, 8));
    observed.again();
    const moved = [2, 4].map((i) => cluster(core, proxy, named(i))?.connectTimeout?.seconds);
    assert.deepEqual(moved, [10n, 8n]);
  });

  it("cost listeners and routes nothing when they are for clusters", () => {
    const core = aMesh(...services, filter("f", [timeout(1, 7)]));
    const proxy = aSidecar("shop");
    const observed = [setOf(core, proxy, typeUrl.listener), setOf(core, proxy, typeUrl.route, ["80"])];
    const before = core.stats().computations;
    apply(core, filter("f", [timeout(1, 8)]));
    const values = observed.map((one) => one.value);
    observed.forEach((one, i) => {
      one.again();
      assert.equal(one.value, values[i]);
    });
    const spent = core.stats().computations - before;
    assert.ok(spent < 12, `${spent} computations`);
  });

  it("decode and encode the virtual host that they are for, and keep the others", () => {
    const core = aMesh(...services, filter("f", [hostTimeout(1, 7)]));
    const proxy = aSidecar("shop");
    const timeouts = () => {
      const found = core.resource(core.subjectOf(proxy), typeUrl.route, "80");
      assert.ok(found !== undefined);
      const { virtualHosts } = decode(RouteConfigurationSchema, found.bytes);
      return virtualHosts.flatMap(({ name, routes: [route] }) =>
        route?.action.case === "route" && route.action.value.timeout?.seconds !== 0n ? [name] : [],
      );
    };
    assert.deepEqual(timeouts(), [`${host(1)}:80`]);
    apply(core, filter("f", [hostTimeout(2, 7)]));
    assert.deepEqual(timeouts(), [`${host(2)}:80`]);
  });

  it("add clusters, rename and remove them; those that are built come first", () => {
    const add = (name: string): PatchJson => ({ applyTo: "CLUSTER", patch: { operation: "ADD", value: { name } } });
    const core = aMesh(
      ...services,
      filter("f", [
        add("extra"),
        add(named(1)),
        merge({ name: named(2) }, { name: "renamed" }),
        { applyTo: "CLUSTER", match: { cluster: { name: named(3) } }, patch: { operation: "REMOVE" } },
      ]),
    );
    const { byName } = setOf(core, aSidecar("shop"), typeUrl.cluster).value;
    const found = ["extra", "renamed", named(2), named(3)].map((name) => byName.has(name));
    assert.deepEqual(found, [true, true, false, false]);
    const built = byName.get(named(1));
    assert.ok(built !== undefined);
    assert.notEqual(decode(ClusterSchema, built.bytes).edsClusterConfig, undefined);
  });

  it("hold by priority, root namespace, age and name", () => {
    const nameIt = (name: string) => merge({ name: named(1) }, { altStatName: name });
    const core = aMesh(
      ...services,
      filter("b", [nameIt("own b")]),
      filter("a@9", [nameIt("own a, young")]),
      filter("z@9", [nameIt("root")], {}, "istio-system"),
    );
    const name = () => cluster(core, aSidecar("shop"), named(1))?.altStatName;
    assert.equal(name(), "own a, young");
    apply(core, filter("z@9", [nameIt("root")], { priority: 1 }, "istio-system"));
    assert.equal(name(), "root");
    apply(core, filter("b", [nameIt("own b")], { priority: 2 }));
    assert.equal(name(), "own b");
  });

  it("select by labels, targets, version and metadata", () => {
    const forAll = timeout(1, 7);
    const when = (proxy: object): PatchJson => ({ ...forAll, match: { ...forAll.match, proxy } });
    const cases: readonly (readonly [JsonObject, PatchJson, sidecar: boolean, router: boolean])[] = [
      [{}, forAll, true, true],
      [{ workloadSelector: { labels: { app: "web" } } }, forAll, true, false],
      [{ workloadSelector: { labels: { app: "other" } } }, forAll, false, false],
      [{ targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "gw" }] }, forAll, false, true],
      [{}, when({ proxyVersion: "^1\\.32" }), true, false],
      [{}, when({ proxyVersion: "^1\\.3" }), true, true],
      [{}, when({ metadata: { COLOR: "blue" } }), true, false],
      [{}, { ...forAll, match: { context: "GATEWAY" } }, false, true],
      [{}, { ...forAll, match: { context: "WAYPOINT", waypoint: {} } }, false, false],
    ];
    const labels = { app: "gateway", "gateway.networking.k8s.io/gateway-name": "gw" };
    const sidecar = aSidecar("shop", { ISTIO_VERSION: "1.32.1", COLOR: "blue" });
    const router = aRouter("shop", { ISTIO_VERSION: "1.31.0", LABELS: labels });
    for (const [more, patch, ...expected] of cases) {
      const core = aMesh(...services, filter("f", [patch], more));
      const found = [sidecar, router].map((proxy) => cluster(core, proxy, named(1))?.altStatName === "patched");
      assert.deepEqual(found, expected, JSON.stringify([more, patch.match]));
    }
  });

  it("leave the clusters of tunnels as they are", () => {
    const features = { ambient: true, ambientMultiNetwork: true };
    const core = new Core({ features });
    apply(core, filter("f", [merge({}, { connect_timeout: "7s" })], {}, "istio-system"));
    for (const proxy of [aSidecar("shop"), aRouter("shop", { LABELS: { istio: "ingressgateway" } })])
      for (const name of ["BlackHoleCluster", "connect_originate"])
        assert.equal(
          cluster(core, proxy, name)?.connectTimeout?.seconds,
          name === "connect_originate" ? 10n : 7n,
          name,
        );
  });

  it("that are wrong leave the resource as it was, and are found with their place", () => {
    const core = aMesh(
      ...services,
      filter("f", [
        timeout(1, 7),
        merge({}, { connect_timeout: "soon" }),
        { ...timeout(1, 8), match: { proxy: { proxyVersion: "a{2" + ",1}" } } },
        { ...timeout(1, 8), match: { proxy: { proxyVersion: "a".repeat(1025) } } },
      ]),
    );
    setOf(core, aSidecar("shop"), typeUrl.cluster);
    assert.equal(cluster(core, aSidecar("shop"), named(1))?.connectTimeout?.seconds, 7n);
    const found = core.findings().filter(({ object }) => object === "EnvoyFilter/shop/f");
    const messages = found.map(({ message }) => message).join("\n");
    assert.match(messages, /spec\.configPatches\[1\]\.patch\.value .*Duration/);
    assert.match(messages, /spec\.configPatches\[2\]\.match\.proxy\.proxyVersion is no regular expression/);
    assert.match(messages, /spec\.configPatches\[3\]\.match\.proxy\.proxyVersion has 1025 characters/);
    apply(core, filter("f", [timeout(1, 7)]));
    setOf(core, aSidecar("shop"), typeUrl.cluster);
    assert.deepEqual(core.findings(), []);
  });
});
