/**
 * Resources of a proxy are a function of the inputs alone: after any history they equal, byte for byte and version for version, those of a
 * server that starts with the present inputs, and those of a replica that got them in another order.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Change, type KubeObject, parseNode } from "@flotilla/model";
import { bytesToJson, typeUrl } from "@flotilla/proto";
import { createMesh, loadMesh } from "@flotilla/registry";
import { checkProperty, fc } from "@flotilla/testkit";
import { nameSet } from "@flotilla/xds";
import { Core } from "./app/core.ts";
import { type CoreSource, createCoreSource } from "./app/core-source.ts";
import type { ProxySession } from "./serve/resource-source.ts";
import { anyObject, type ObjectChoice, objectOf } from "./testing/any-object.ts";
import { applyOptionsOf } from "./testing/apply-options.ts";

const proxies = [
  { id: "sidecar~10.0.0.1~p1.shop~shop.svc.cluster.local", labels: { app: "a", version: "v1" } },
  { id: "sidecar~10.0.0.2~p2.bank~bank.svc.cluster.local", labels: { app: "b" } },
  { id: "router~10.0.0.9~gateway.shop~shop.svc.cluster.local", labels: { istio: "gateway" } },
].map(({ id, labels }) => {
  const namespace = id.includes(".bank~") ? "bank" : "shop";
  const metadata = {
    NAMESPACE: namespace,
    CLUSTER_ID: "Kubernetes",
    INSTANCE_IPS: id.split("~")[1] ?? "",
    LABELS: labels,
  };
  return parseNode({ id, locality: { region: "r", zone: "z1", subzone: "" }, metadata });
});

const steps = fc.array(fc.array(anyObject, { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 14,
  size: "max",
});

/** Objects by what they are, as they are after the steps. */
function finalObjects(history: readonly (readonly ObjectChoice[])[]): readonly KubeObject[] {
  const objects = new Map<string, KubeObject>();
  for (const choice of history.flat()) {
    const { object, isPresent } = objectOf(choice);
    const key = `${object.kind}/${object.metadata.namespace}/${object.metadata.name}`;
    if (isPresent) objects.set(key, object);
    else objects.delete(key);
  }
  return [...objects.values()];
}

function sessionsOf(source: CoreSource): readonly ProxySession[] {
  return proxies.map((proxy) => source.open({ proxy, identities: [] }, () => undefined));
}

/** Everything that a proxy asks for, by type and name: version and bytes. */
function received(session: ProxySession): Readonly<Record<string, string>> {
  const found: (readonly [string, string])[] = [];
  const read = (type: string, names?: readonly string[]) => {
    const set = session.resources(type, names && nameSet(names));
    if (set === undefined) return [];
    found.push([`${type} version`, set.version]);
    const all = [...set.byName.values()];
    for (const { name, version, bytes } of all)
      found.push([`${type} ${name}`, `${version} ${Buffer.from(bytes).toString("base64")}`]);
    return all;
  };
  read(
    typeUrl.endpoint,
    read(typeUrl.cluster).map(({ name }) => name),
  );
  const listeners = read(typeUrl.listener).map(({ bytes }) => JSON.stringify(bytesToJson(typeUrl.listener, bytes)));
  const routes = listeners.flatMap((text) =>
    [...text.matchAll(/"routeConfigName":"([^"]+)"/g)].map(([, name]) => name ?? ""),
  );
  read(typeUrl.route, [...new Set(routes)]);
  read(typeUrl.nameTable);
  return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function apply(source: CoreSource, changes: readonly Change[], position: number): void {
  assert.deepEqual(source.apply(changes, applyOptionsOf(changes, position)), []);
}

function replicaWith(changes: readonly Change[]): CoreSource {
  const source = createCoreSource(new Core());
  apply(source, changes, 1);
  return source;
}

describe("resources of a proxy", () => {
  it("is the same after any history as from a server that starts with the inputs of now", () => {
    checkProperty(
      steps,
      (history) => {
        const [source, mesh] = [createCoreSource(new Core()), createMesh({})];
        apply(source, mesh.apply({ mesh: {}, networks: {} }), 1);
        const sessions = sessionsOf(source);
        for (const [index, step] of history.entries()) {
          for (const choice of step) {
            const { object, isPresent } = objectOf(choice);
            apply(source, mesh.apply(isPresent ? { put: [object] } : { delete: [object] }), index + 2);
          }
          // As streams do: what is asked for is kept, and brought up to date by the next step.
          for (const session of sessions) received(session);
        }
        const fresh = sessionsOf(replicaWith(loadMesh(finalObjects(history))));
        for (const [index, session] of sessions.entries())
          assert.deepEqual(received(session), received(fresh[index] as ProxySession), proxies[index]?.id);
      },
      { runs: 40 },
    );
  });

  it("is the same from two replicas that were given the same inputs in different orders", () => {
    const inputs = fc
      .record({ history: steps, seeds: fc.array(fc.nat(), { minLength: 40, maxLength: 40 }) })
      .map(({ history, seeds }) => ({ changes: loadMesh(finalObjects(history)), seeds }));
    checkProperty(
      inputs,
      ({ changes, seeds }) => {
        const order = changes.map((change, index) => ({ change, at: seeds[index % seeds.length] ?? 0 }));
        const shuffled = order.sort((a, b) => a.at - b.at).map(({ change }) => change);
        const second = createCoreSource(new Core());
        const late = sessionsOf(second);
        for (const [index, change] of shuffled.entries()) {
          apply(second, [change], index + 1);
          if (index % 5 === 4) for (const session of late) received(session);
        }
        const first = sessionsOf(replicaWith(changes));
        for (const [index, session] of first.entries())
          assert.deepEqual(received(late[index] as ProxySession), received(session), proxies[index]?.id);
      },
      { runs: 40 },
    );
  });
});
