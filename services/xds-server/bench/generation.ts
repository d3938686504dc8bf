/**
 * `node services/xds-server/bench/generation.ts [SERVICES…]`: what a view costs in the pure core — cold generation of
 * everything, one VirtualService edit and one endpoint change, for one and for fifty views. A JSON line per size.
 */
import { type Change, type Proxy, parseNode } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { loadMesh } from "@flotilla/registry";
import { nameSet } from "@flotilla/xds";
import { Core } from "../src/core.ts";
import { createCoreSource } from "../src/core-source.ts";
import { meshObjects, virtualServiceOf } from "./mesh-objects.ts";

const sizes = process.argv.slice(2).map(Number);
for (const services of sizes.length > 0 ? sizes : [100, 500, 2000])
  process.stdout.write(`${JSON.stringify(measure(services))}\n`);

function measure(services: number) {
  const changes = loadMesh(meshObjects(services));
  const heapBefore = heapMb();
  const core = new Core();
  const source = createCoreSource(core);
  const apply = timed(() => source.apply(changes, 1, "normal"));
  const heapInputs = heapMb();
  const first = session(source, proxyOf(0, "a"));
  const cold = timed(() => first.readAll());
  const shared = session(source, proxyOf(1, "a"));
  const second = timed(() => shared.readAll());
  const others = Array.from({ length: 49 }, (_, i) => session(source, proxyOf(i + 2, `n${i}`)));
  const views = [first, ...others];
  const readAll = () => {
    for (const view of views) view.readAll();
  };
  const more = timed(readAll);
  const edit = timed(() => {
    source.apply(virtualServiceChange("second"), 2, "normal");
    readAll();
  });
  const endpoint = timed(() => {
    source.apply(endpointChange(changes), 3, "urgent");
    readAll();
  });
  return {
    services,
    applyMs: apply,
    coldViewMs: cold,
    secondProxyOfTheViewMs: second,
    fortyNineMoreViewsMs: more,
    virtualServiceEdit50ViewsMs: edit,
    endpointChange50ViewsMs: endpoint,
    heapPerServiceKb: Math.round(((heapInputs - heapBefore) * 1024) / services),
    heapMb: Math.round(heapMb()),
  };
}

function session(source: ReturnType<typeof createCoreSource>, proxy: Proxy) {
  const stale = new Set<string>();
  const one = source.open({ proxy, identities: [] }, (type) => stale.add(type));
  const readAll = () => {
    const clusters = one.resources(typeUrl.cluster, undefined);
    one.resources(
      typeUrl.endpoint,
      nameSet([...(clusters?.byName.keys() ?? [])].filter((name) => name.startsWith("outbound|"))),
    );
    one.resources(typeUrl.listener, undefined);
    one.resources(typeUrl.route, nameSet(["80"]));
  };
  return { readAll };
}

function proxyOf(i: number, namespace: string): Proxy {
  const address = `10.1.${i >> 8}.${i & 255}`;
  return parseNode({
    id: `sidecar~${address}~p${i}.${namespace}~${namespace}.svc.cluster.local`,
    metadata: {
      NAMESPACE: namespace,
      INSTANCE_IPS: address,
      LABELS: { app: "client" },
      CLUSTER_ID: "Kubernetes",
      ISTIO_VERSION: "1.32.0",
    },
  });
}

function virtualServiceChange(mark: string): readonly Change[] {
  return loadMesh([virtualServiceOf(0, mark)]).filter(
    ({ type, key }) => type === "config" && "kind" in key && key.kind === "VirtualService",
  );
}

function endpointChange(changes: readonly Change[]): readonly Change[] {
  const found = changes.find((change) => change.type === "endpoints" && change.op === "put" && change.value.length > 0);
  if (found?.type !== "endpoints" || found.op !== "put") return [];
  return [{ ...found, value: found.value.map((endpoint) => ({ ...endpoint, weight: endpoint.weight + 1 })) }];
}

/** Milliseconds, to a tenth. */
function timed(work: () => void): number {
  const started = performance.now();
  work();
  return Math.round((performance.now() - started) * 10) / 10;
}

function heapMb(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return process.memoryUsage().heapUsed / 1e6;
}
