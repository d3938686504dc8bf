import assert from "node:assert/strict";
import { test } from "node:test";
import type { Proxy } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import type { Core } from "../../app/core.ts";
import { aConfig, aMesh, apply, aService, aSidecar } from "../../testing/mesh.ts";

const hosts = Array.from({ length: 200 }, (_, i) => `svc-${i}.example`);
const external = (hostname: string) =>
  aService(hostname, "mesh", { hostname, registry: "External", definedBy: `ServiceEntry/mesh/${hostname}` });
const names = nameSet(hosts.map((host) => `outbound|80||${host}`));

/** Kept, as a stream does. */
function setOf(core: Core, proxy: Proxy, type: string, wanted?: typeof names) {
  const observed = core.observe(core.subjectOf(proxy), type, wanted, () => undefined);
  assert.ok(observed !== undefined);
  return observed.value;
}

test("equal sets of proxies in different namespaces are the identical one, before and after a change", () => {
  const trafficPolicy = { outlierDetection: { consecutive5xxErrors: 3 } };
  const core = aMesh(
    ...hosts.map(external),
    aConfig("DestinationRule", "mesh", "ruled", { host: "svc-3.example", trafficPolicy, subsets: [{ name: "v1" }] }),
  );
  const [shop, depot] = [aSidecar("shop"), aSidecar("depot", {}, "10.0.0.2")];
  const all = [
    { type: typeUrl.cluster },
    { type: typeUrl.endpoint, wanted: names },
    { type: typeUrl.route, wanted: nameSet(["80"]) },
  ];
  for (const { type, wanted } of all) assert.equal(setOf(core, shop, type, wanted), setOf(core, depot, type, wanted));
  const before = setOf(core, shop, typeUrl.route, nameSet(["80"]));
  const route = [{ destination: { host: "svc-7.example" }, headers: { response: { set: { x: "1" } } } }];
  apply(core, aConfig("VirtualService", "mesh", "edited", { hosts: ["svc-7.example"], http: [{ route }] }));
  for (const { type, wanted } of all) assert.equal(setOf(core, shop, type, wanted), setOf(core, depot, type, wanted));
  assert.notEqual(setOf(core, shop, typeUrl.route, nameSet(["80"])).version, before.version);
});

test("the result of a rule is computed once for all namespaces under it", () => {
  const trafficPolicy = { outlierDetection: { consecutive5xxErrors: 3 } };
  const rules = hosts.map((host) => aConfig("DestinationRule", "mesh", host, { host, trafficPolicy }));
  const core = aMesh(...hosts.map(external), ...rules);
  const computationsFor = (proxy: Proxy) => {
    const before = core.stats().computations;
    setOf(core, proxy, typeUrl.cluster);
    return core.stats().computations - before;
  };
  const [first, second] = [aSidecar("shop"), aSidecar("depot", {}, "10.0.0.2")].map(computationsFor);
  assert.ok(first !== undefined && second !== undefined && second < 0.8 * first, `${first}, then ${second}`);
});

test("an edit of one route costs each view a few computations, however many services there are", () => {
  const core = aMesh(...hosts.map(external));
  const proxies = Array.from({ length: 10 }, (_, i) => aSidecar(`ns-${i}`, {}, `10.0.0.${i}`));
  const edited = (value: string) => {
    const route = [{ destination: { host: "svc-7.example" }, headers: { response: { set: { x: value } } } }];
    apply(core, aConfig("VirtualService", "mesh", "edited", { hosts: ["svc-7.example"], http: [{ route }] }));
  };
  const readAll = () => {
    for (const proxy of proxies) setOf(core, proxy, typeUrl.route, nameSet(["80"]));
  };
  edited("1");
  readAll();
  const before = core.stats().computations;
  edited("2");
  readAll();
  const spent = core.stats().computations - before;
  assert.ok(spent <= 10 * proxies.length, `${spent} computations for ${proxies.length} views`);
});
