import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { createLogger, until } from "@flotilla/runtime";
import { DeployedObjects } from "./deployed-objects.ts";

const soon = (what: string) => ({ withinMs: 60_000, what });
const managed = { "gateway.istio.io/managed": "istio.io-gateway-controller" };
const service = (port: number, labels: Readonly<Record<string, string>> = managed) => ({
  ...{ apiVersion: "v1", kind: "Service", metadata: { name: "a b", namespace: "shop", labels } },
  spec: { ports: [{ port }] },
});
const path = "/api/v1/namespaces/shop/services/a%20b";

function parts(stored: Readonly<Record<string, object>> = {}) {
  const memory = createMemoryApi(stored);
  const lines: string[] = [];
  const log = createLogger("test", "info", { write: (line) => void lines.push(JSON.parse(line).msg) });
  let changes = 0;
  const objects = new DeployedObjects({
    ...{ api: memory.api, fieldManager: "me", log, random: () => 0, onChange: () => changes++ },
  });
  const stop = new AbortController();
  return { memory, lines, objects, stop, changes: () => changes };
}

describe("objects that are deployed for Gateways", () => {
  it("are written once, and again when they are wanted otherwise or changed by somebody", async () => {
    const { memory, objects, stop, changes } = parts();
    const running = objects.run(stop.signal);
    await until(() => objects.isKnown, soon("the lists"));
    assert.equal(await objects.apply(service(80)), true);
    assert.deepEqual(
      memory.writes.map(({ verb, path: at, fieldManager }) => [verb, at, fieldManager]),
      [["apply", path, "me"]],
    );
    let before = changes();
    await until(async () => !(await objects.apply(service(80))), soon("the object to be seen"));
    const count = memory.writes.length;
    assert.equal(await objects.apply(service(80)), false);
    assert.equal(await objects.apply(service(81)), true);
    await until(() => changes() > before, soon("the change"));
    await until(async () => !(await objects.apply(service(81))), soon("the object to be seen again"));
    before = changes();
    memory.put(path, { ...service(99), metadata: { ...service(99).metadata, resourceVersion: undefined } });
    await until(() => changes() > before, soon("somebody's change"));
    assert.equal(await objects.apply(service(81)), true);
    assert.ok(memory.writes.length > count + 1);
    assert.deepEqual((memory.read(path) as { readonly spec?: unknown } | undefined)?.spec, { ports: [{ port: 81 }] });
    stop.abort();
    await running;
  });

  it("are left alone where somebody else made them, with one warning", async () => {
    const { memory, objects, lines } = parts({ [path]: service(7, {}) });
    assert.deepEqual([await objects.apply(service(80)), await objects.apply(service(80))], [false, false]);
    assert.deepEqual(
      [memory.writes.length, lines],
      [0, ["object of a Gateway's name has another owner, left unchanged"]],
    );
    memory.put(path, service(7));
    assert.equal(await objects.apply(service(80)), true);
  });

  it("take over what is there, as the caller chooses", async () => {
    const { memory, objects, stop } = parts({ [path]: service(7) });
    const running = objects.run(stop.signal);
    await until(() => objects.isKnown, soon("the lists"));
    await objects.apply(service(80), (wanted, found) => ({ ...wanted, spec: { was: found?.spec } }));
    const { spec } = (memory.read(path) ?? {}) as { readonly spec?: object };
    assert.deepEqual((spec as { readonly was?: unknown }).was, { ports: [{ port: 7 }] });
    stop.abort();
    await running;
  });

  it("stand at the paths of their kinds", async () => {
    const { memory, objects } = parts();
    const kinds = ["ServiceAccount", "Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget"];
    for (const kind of kinds) await objects.apply({ ...service(1), kind });
    assert.deepEqual(
      memory.writes.map(({ path: at }) => at),
      [
        "/api/v1/namespaces/shop/serviceaccounts/a%20b",
        "/apis/apps/v1/namespaces/shop/deployments/a%20b",
        "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/a%20b",
        "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/a%20b",
      ],
    );
    assert.equal(objects.isKnown, false);
  });
});
