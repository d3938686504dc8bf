/**
 * Views are shared and kept up to date; both must be invisible. A proxy gets, byte for byte, the resources that it would have got alone
 * from a server that was started just now, whatever the server has served before and whichever clients are connected.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Change, KubeObject, Proxy } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { seededRandom } from "@flotilla/proto/testing";
import { loadMesh } from "@flotilla/registry";
import { nameSet, type ResourceSet } from "@flotilla/xds";
import { Core } from "./app/core.ts";
import { type CoreSource, createCoreSource } from "./app/core-source.ts";
import type { ProxySession } from "./serve/resource-source.ts";
import { applyOptionsOf } from "./testing/apply-options.ts";
import { randomMesh } from "./testing/random-mesh.ts";

const seeds = 60;
const changesPerSeed = 6;
const proxies = 8;

/** The resources that a proxy is given of each type, by name with the bytes' text. */
type Capture = ReadonlyMap<string, ResourceSet>;

function capture(session: ProxySession): Capture {
  const sets = new Map<string, ResourceSet>();
  const read = (type: string, names?: readonly string[]): ResourceSet | undefined => {
    const set = session.resources(type, names === undefined ? undefined : nameSet(names));
    if (set !== undefined) sets.set(type, set);
    return set;
  };
  const clusters = [...(read(typeUrl.cluster)?.byName.keys() ?? [])];
  read(typeUrl.endpoint, clusters);
  read(typeUrl.listener);
  read(typeUrl.route, ["80", "90"]);
  read(typeUrl.nameTable);
  return sets;
}

function contents(captured: Capture): Readonly<Record<string, string>> {
  const entries = [...captured].flatMap(([type, { byName, version }]) => [
    [`${type} version`, version] as const,
    ...[...byName.values()].map(
      ({ name, bytes, version: of }) => [`${type} ${name}`, `${of} ${Buffer.from(bytes).toString("base64")}`] as const,
    ),
  ]);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function alone(objects: readonly KubeObject[], proxy: Proxy): Capture {
  const source = createCoreSource(new Core());
  const changes = loadMesh(objects);
  source.apply(changes, applyOptionsOf(changes, 1));
  return capture(open(source, proxy));
}

function open(source: CoreSource, proxy: Proxy): ProxySession {
  return source.open({ proxy, identities: [] }, () => undefined);
}

/** The changes that make `after` of `before`. */
function difference(before: readonly Change[], after: readonly Change[]): readonly Change[] {
  const keyOf = ({ type, key }: Change) => `${type} ${JSON.stringify(key)}`;
  const [old, now] = [before, after].map((changes) => new Map(changes.map((change) => [keyOf(change), change])));
  const gone = [...(old ?? [])].filter(([key]) => now?.has(key) !== true);
  const changed = [...(now ?? [])].filter(([key, change]) => JSON.stringify(change) !== JSON.stringify(old?.get(key)));
  return [
    ...gone.map(([, { type, key }]) => ({ type, op: "delete", key }) as Change),
    ...changed.map(([, change]) => change),
  ];
}

describe("sharing", () => {
  it(`${seeds} random meshes under change: each proxy gets what it would have got alone`, () => {
    const found = { shared: 0, pairs: 0 };
    for (let seed = 1; seed <= seeds; seed++) {
      const next = seededRandom(seed);
      const mesh = randomMesh(next);
      const source = createCoreSource(new Core());
      let changes = loadMesh(mesh.objects());
      source.apply(changes, applyOptionsOf(changes, 1));
      const fleet = Array.from({ length: proxies }, (_, i) => mesh.proxy(i));
      const sessions = fleet.map((proxy) => open(source, proxy));
      for (let round = 0; round <= changesPerSeed; round++) {
        const captures = sessions.map(capture);
        for (const [i, proxy] of fleet.entries()) {
          // Every proxy in the end, one at random before.
          if (round < changesPerSeed && i !== Math.floor(next() * proxies)) continue;
          const [got, wanted] = [captures[i] ?? new Map(), alone(mesh.objects(), proxy)];
          assert.deepEqual(contents(got), contents(wanted), `seed ${seed}, round ${round}, ${proxy.id}`);
        }
        for (const type of [typeUrl.cluster, typeUrl.listener]) {
          const sets = captures.map((captured) => captured.get(type));
          found.pairs += sets.length - 1;
          found.shared += sets.length - new Set(sets).size;
        }
        mesh.change();
        const after = loadMesh(mesh.objects());
        const different = difference(changes, after);
        source.apply(different, applyOptionsOf(different, round + 2));
        changes = after;
      }
      for (const session of sessions) session.close();
    }
    assert.ok(found.shared > found.pairs / 20, `only ${found.shared} of ${found.pairs} sets were shared at all`);
    assert.ok(found.shared < found.pairs, "all proxies shared everything: the meshes are too much alike");
  });
});
