/** In any order of changes, incrementally updated resources equal those of a new core with the final state. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, type Config, configKeyText, type Proxy, type Service, serviceKeyText } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { Core } from "../app/core.ts";
import { aConfig, aPort, aService, aSidecar, put } from "../testing/mesh.ts";

const namespaces = ["shop", "depot", "istio-system"];
const routeNames = ["80", "8080", "http_proxy", "a.shop.svc.cluster.local:9000"];

test("incremental results of all types equal those of a new core, for 40 seeds of 25 changes", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = generator(seed);
    const state = new Map<string, Service | Config>();
    const core = new Core();
    const proxies = [aSidecar("shop"), aSidecar("depot", { LABELS: { app: "other" } }, "10.0.0.2")];
    const observed = proxies.flatMap((proxy) => watch(core, proxy));
    for (let step = 0; step < 25; step++) {
      const changes = someChange(random, state);
      assert.deepEqual(core.apply(changes), []);
      if (step % 5 !== 4) continue;
      const fresh = new Core();
      assert.deepEqual(fresh.apply(put(...state.values())), []);
      for (const proxy of proxies) assert.deepEqual(versions(core, proxy), versions(fresh, proxy), `seed ${seed}`);
    }
    for (const one of observed) one?.release();
  }
});

const endpointNames = ["a.shop", "a.depot", "b.depot", "b.shop"].flatMap((name) =>
  ["", "v1", "v2"].map((subset) => `outbound|80|${subset}|${name}.svc.cluster.local`),
);

const watched = [
  { type: typeUrl.cluster },
  { type: typeUrl.endpoint, names: nameSet(endpointNames) },
  { type: typeUrl.listener },
  { type: typeUrl.route, names: nameSet(routeNames) },
  { type: typeUrl.nameTable },
] as const;

/** Keeps the results, as streams do. */
function watch(core: Core, proxy: Proxy) {
  const subject = core.subjectOf(proxy);
  return watched.map(({ type, ...more }) =>
    core.observe(subject, type, "names" in more ? more.names : undefined, () => undefined),
  );
}

function versions(core: Core, proxy: Proxy): readonly (readonly string[])[] {
  const subject = core.subjectOf(proxy);
  return watched.map(({ type, ...more }) => {
    const set = core.resources(subject, type, "names" in more ? more.names : undefined);
    return [...(set?.byName.values() ?? [])].map(({ name, version }) => `${name} ${version}`).sort();
  });
}

type Random = (below: number) => number;

function someChange(random: Random, state: Map<string, Service | Config>): readonly Change[] {
  const known = [...state.keys()];
  const gone = known[random(known.length * 4)];
  if (gone !== undefined) {
    const value = state.get(gone);
    state.delete(gone);
    return value === undefined ? [] : put(value).map(({ type, key }) => ({ type, key, op: "delete" }) as Change);
  }
  const value = someValue(random);
  state.set("key" in value ? configKeyText(value.key) : serviceKeyText({ ...value, shard: value.registry }), value);
  return put(value);
}

function someValue(random: Random): Service | Config {
  const one = <Value>(values: readonly Value[]): Value => values[random(values.length)] as Value;
  const namespace = one(namespaces);
  const host = () => one(["a", "b.depot.svc.cluster.local", "x.example", "*.example", "*.shop.svc.cluster.local"]);
  const exportTo = () => one([[], ["*"], ["."], ["depot"]]);
  const name = `${one(["a", "b", "c"])}@${random(3)}`;
  const ports = [aPort("http", one([80, 8080]), "HTTP"), aPort("auto", 9000, "")];
  switch (random(7)) {
    case 0:
      return aService(one(["a", "b"]), namespace, { ports, exportTo: exportTo(), creationTimeMs: random(3) * 1000 });
    case 1: {
      const more = { registry: "External", hostname: one(["x.example", "a.shop.svc.cluster.local"]) } as const;
      return aService(one(["se-1", "se-2"]), namespace, { ...more, ports, creationTimeMs: random(3) * 1000 });
    }
    case 2: {
      const hosts = [...new Set([host(), host()])];
      const match: JsonObject[] = one([
        [],
        [{ port: 80 }],
        [{ sourceLabels: { app: "web" } }],
        [{ sourceNamespace: "shop" }],
      ]);
      const route = [{ destination: { host: one(["a", "x.example"]), subset: one(["", "v1"]) } }];
      return aConfig("VirtualService", namespace, name, { hosts, exportTo: exportTo(), http: [{ match, route }] });
    }
    case 3: {
      const delegate = { name: one(["d", "e"]), namespace };
      const http = [{ match: [{ uri: { prefix: "/d" } }], delegate }];
      return aConfig("VirtualService", namespace, name, { hosts: [host()], http });
    }
    case 4:
      return random(2) === 0
        ? aConfig("VirtualService", namespace, one(["d", "e"]), { http: [{ route: [{ destination: { host: "a" } }] }] })
        : aConfig("Sidecar", namespace, "default", {
            egress: [{ hosts: one([["./*"], ["*/*"], ["depot/*", "./*"]]) }],
          });
    case 5: {
      const entry = { group: "networking.istio.io", kind: "ServiceEntry", name: "se" };
      if (random(3) === 0)
        return aConfig("ServiceEntry", namespace, "se", { hosts: [one(["x.example", "y.example"])] });
      const service = { group: "", kind: "Service", name: one(["a", "b"]), namespace: one(namespaces) };
      const parentRefs = [one<JsonObject>([service, { ...service, port: 80 }, entry])];
      const backendRefs = [{ name: one(["a", "b"]), port: 80 }];
      const filters = one([[], [{ type: "RequestMirror", requestMirror: { backendRef: { name: "b", port: 80 } } }]]);
      const matches = one<JsonObject[]>([[], [{ headers: [{ name: "h", value: "v" }] }]]);
      return aConfig(one(["HTTPRoute", "GRPCRoute", "TCPRoute"]), namespace, name, {
        parentRefs,
        rules: [{ backendRefs, matches, ...(filters.length > 0 && { filters }) }],
      });
    }
    default: {
      const trafficPolicy = one<JsonObject>([
        { loadBalancer: { consistentHash: { httpHeaderName: one(["x-a", "x-b"]) } } },
        { tls: { mode: one(["DISABLE", "ISTIO_MUTUAL"]) } },
      ]);
      const subsets = one([[], ["v1"], ["v1", "v2"]]).map((subset) => ({ name: subset, labels: { version: subset } }));
      return aConfig("DestinationRule", namespace, name, {
        host: host(),
        exportTo: exportTo(),
        trafficPolicy,
        subsets,
      });
    }
  }
}

/** Numbers that look random and are the same in every run. */
function generator(seed: number): Random {
  let state = seed * 2654435761;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) >>> 0;
    return below === 0 ? 0 : (((state >>> 8) ^ state) >>> 0) % below;
  };
}
