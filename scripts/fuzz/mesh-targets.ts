/**
 * A small mesh in one process, into which odd objects come: as another cluster's API server gives them, and as a publisher of another version
 * sends them. Each is refused by name, or takes effect without an error of ours; when it is gone, everything is as it was.
 */
import { isDeepStrictEqual } from "node:util";
import { decodeChange, encodeChange, keyText } from "../../packages/bus/src/topics.ts";
import type { KubeObject } from "../../packages/model/src/config/kube-object.ts";
import { objectKey } from "../../packages/model/src/config/kube-object.ts";
import { checkKubeObject } from "../../packages/model/src/config/kube-object-shape.ts";
import { isObject } from "../../packages/model/src/json/own-value.ts";
import { parseNode } from "../../packages/model/src/proxy/node.ts";
import { typeUrl } from "../../packages/proto/src/type-url.ts";
import { createMesh } from "../../packages/registry/src/load-mesh.ts";
import { ClusterRegistries } from "../../packages/registry/src/registry/clusters.ts";
import { defaultRegistrySettings } from "../../packages/registry/src/settings.ts";
import { Core } from "../../services/xds-server/src/app/core.ts";
import { createCoreSource } from "../../services/xds-server/src/app/core-source.ts";
import { keptInputs } from "./corpus.ts";

const objects = keptInputs("objects").flatMap((input): readonly KubeObject[] => {
  const value = parsed(input);
  return isNamed(value) && checkKubeObject(value).length === 0 ? [value] : [];
});

const cluster = "east";
const registry = new ClusterRegistries({ ...defaultRegistrySettings, ambient: true });
registry.apply(objects.map((object) => ({ type: "object", op: "put", object, cluster })));
const state = registry.state();

/** As the objects of a joined cluster come. */
export function applyObject(input: Buffer): void {
  const object = parsed(input);
  if (!isNamed(object) || checkKubeObject(object).length > 0) return;
  registry.apply([{ type: "object", op: "put", object, cluster }]);
  const failed = registry.problems().find(({ reason }) => reason.includes("cannot be computed"));
  if (failed !== undefined) throw new Error(`${failed.object} ${failed.reason}`);
  const key = objectKey(object);
  const former = objects.findLast((one) => sameObject(one, object));
  registry.apply([
    { type: "object", op: "delete", key, cluster },
    ...(former === undefined ? [] : [{ type: "object", op: "put", object: former, cluster } as const]),
  ]);
  if (!isSame(registry.state(), state))
    throw new Error(`${object.kind}/${key.namespace}/${key.name} left something behind`);
}

const source = createCoreSource(new Core({ features: { ambient: true } }));
const changes = createMesh({ PILOT_ENABLE_AMBIENT: "true" }).apply({ put: objects, mesh: {} });
apply(changes);

/** Messages of the bus: every change of the mesh. */
export const changeSamples: readonly Buffer[] = changes.map((change) => Buffer.from(encodeChange(change)));

const sessions = ["sidecar", "ztunnel"].map((type) => {
  const id = `${type}~10.244.62.11~api.amb~amb.svc.cluster.local`;
  const proxy = parseNode({ id, metadata: { NAMESPACE: "amb" } });
  return source.open({ proxy, identities: [] }, () => undefined);
});
const before = resources();

/** @throws BusError for what is no change */
export function applyChange(input: Buffer): void {
  const change = decodeChange(input);
  apply([change]);
  resources();
  const text = textOf(change);
  const former = changes.findLast((one) => textOf(one) === text);
  apply([former ?? ({ type: change.type, op: "delete", key: change.key } as typeof change)]);
  if (!isDeepStrictEqual(resources(), before)) throw new Error(`${text} left something behind`);
}

function apply(some: typeof changes): void {
  const cause = { publisher: "fuzzer", epoch: "", revision: 0, eventTimeMs: 0 };
  const applied = { position: 1, revisions: new Map(), cause };
  source.apply(some, { applied, groups: [], urgency: "normal" } as never);
}

/** A workload has one uid in the whole mesh. */
function textOf(change: (typeof changes)[number]): string {
  return change.type === "workload" ? `workload ${change.key.uid}` : keyText(change);
}

/** Versions of all resources by proxy, type and name. */
function resources(): readonly (readonly string[])[] {
  const types = [typeUrl.cluster, typeUrl.listener, typeUrl.nameTable, typeUrl.address, typeUrl.authorization];
  return sessions.map((session) =>
    types.flatMap((type) => {
      const set = session.resources(type, undefined);
      return [...(set?.byName.values() ?? [])].map(({ name, version }) => `${type} ${name} ${version}`);
    }),
  );
}

function isSame(a: readonly object[], b: readonly object[]): boolean {
  const sorted = (all: readonly object[]) => all.map((one) => JSON.stringify(one)).sort();
  return isDeepStrictEqual(sorted(a), sorted(b));
}

/** Undefined: the readers of JSON refuse it before anybody looks at it. */
function parsed(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString());
  } catch {
    return undefined;
  }
}

/** Any API server gives these. */
function isNamed(value: unknown): value is KubeObject {
  if (!isObject(value) || typeof value["apiVersion"] !== "string" || typeof value["kind"] !== "string") return false;
  const { metadata } = value;
  return (
    isObject(metadata) &&
    typeof metadata["name"] === "string" &&
    ["string", "undefined"].includes(typeof metadata["namespace"])
  );
}

function sameObject(a: KubeObject, b: KubeObject): boolean {
  return a.kind === b.kind && isDeepStrictEqual(objectKey(a), objectKey(b));
}
