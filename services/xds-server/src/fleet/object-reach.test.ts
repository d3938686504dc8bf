/** How many proxies have an object, counted from what they watch and how far they have answered. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Change, ConfigKey } from "@flotilla/model";
import { aConfig, aService, put } from "../testing/mesh.ts";
import type { Standing } from "./balance.ts";
import { ObjectReaches } from "./object-reach.ts";

const route = put(aConfig("VirtualService", "shop", "a", {}));
const name = "VirtualService/shop/a";
const [web, cart, till] = [{}, {}, {}];
const standing = (position: number, count: number, ...watched: readonly object[]) =>
  ({ position, count, watched }) as unknown as Standing;
const atOnce = () => 0;

/** @param from the results that the object has a part in, a set for each of its inputs */
function reaches(from: readonly ReadonlySet<object>[] | undefined) {
  const asked: ConfigKey[] = [];
  const found = new ObjectReaches({
    resultsFrom: (key) => {
      asked.push(key);
      return from;
    },
  });
  return { found, asked };
}

const cases: readonly {
  readonly name: string;
  readonly from: readonly ReadonlySet<object>[] | undefined;
  readonly standings: readonly Standing[];
  readonly want: readonly [reached: number, waiting: number];
}[] = [
  { name: "no proxy is connected", from: [new Set([web])], standings: [], want: [0, 0] },
  {
    name: "those that watch a result of it have it, the others are not concerned",
    from: [new Set([web])],
    standings: [standing(5, 3, web), standing(5, 2, till)],
    want: [3, 0],
  },
  {
    name: "the result may follow from any of its inputs",
    from: [new Set([web]), new Set([cart])],
    standings: [standing(5, 1, web), standing(5, 1, till, cart), standing(5, 1, till)],
    want: [2, 0],
  },
  {
    name: "those that have not answered the change are waited for, whatever they watch",
    from: [new Set([web])],
    standings: [standing(4, 3, till), standing(5, 2, web)],
    want: [2, 3],
  },
  {
    name: "what has a part in too much concerns everybody",
    from: undefined,
    standings: [standing(5, 3, till), standing(4, 1, web)],
    want: [3, 1],
  },
];

describe("how far an object has come", () => {
  for (const { name: title, from, standings, want } of cases)
    it(title, () => {
      const { found } = reaches(from);
      found.note(route, 5);
      assert.equal(found.refresh(standings, 1, atOnce), "nothing");
      assert.deepEqual(found.list(), { [name]: { position: 5, reached: want[0], waiting: want[1] } });
    });

  it("is listed once it was looked at", () => {
    const { found } = reaches([new Set([web])]);
    found.note(route, 5);
    assert.deepEqual(found.list(), {});
  });

  it("is counted again while it is waited for, and afterwards for other streams only", () => {
    const { found, asked } = reaches([new Set([web])]);
    found.note(route, 5);
    found.refresh([standing(4, 1, web)], 1, atOnce);
    found.refresh([standing(5, 1, web)], 1, atOnce);
    assert.deepEqual(found.list()[name], { position: 5, reached: 1, waiting: 0 });
    found.refresh([standing(5, 1, web)], 1, atOnce);
    assert.equal(asked.length, 2);
    found.refresh([standing(5, 2, web)], 2, atOnce);
    assert.equal(found.list()[name]?.reached, 2);
  });

  it("is not looked for again when it has a part in too much, until the object changes", () => {
    const { found, asked } = reaches(undefined);
    found.note(route, 5);
    found.refresh([standing(4, 1, web)], 1, atOnce);
    found.refresh([standing(5, 1, web)], 1, atOnce);
    assert.deepEqual(found.list()[name], { position: 5, reached: 1, waiting: 0 });
    assert.equal(asked.length, 1);
    found.note(route, 6);
    found.refresh([standing(6, 1, web)], 1, atOnce);
    assert.equal(asked.length, 2);
  });

  it("stops looking when it has taken long: recounts first", () => {
    const { found } = reaches([new Set([web])]);
    found.note(route, 5);
    assert.equal(
      found.refresh([], 1, () => 4),
      "looks",
    );
    assert.deepEqual(found.list(), {});
    found.refresh([], 1, atOnce);
    assert.equal(
      found.refresh([], 2, () => 2),
      "recounts",
    );
    found.note(put(aConfig("VirtualService", "shop", "b", {})), 6);
    assert.equal(
      found.refresh([standing(6, 1)], 2, () => 2),
      "recounts",
    );
    assert.deepEqual(Object.keys(found.list()), [name, "VirtualService/shop/b"]);
  });
});

describe("objects that are counted", () => {
  const noted = (...changes: readonly Change[]) => {
    const { found } = reaches([]);
    found.note(changes, 5);
    found.refresh([], 1, atOnce);
    return Object.keys(found.list());
  };
  const removed = (change: Change) => ({ type: change.type, op: "delete", key: change.key }) as Change;
  const entry = aService("e", "shop", { definedBy: "ServiceEntry/shop/e" });
  const [service] = put(aService("a", "shop"));

  const kinds: readonly (readonly [string, readonly Change[], readonly string[]])[] = [
    ["an object that is gone is not", [...route, removed(route[0] as Change)], []],
    ["a ServiceEntry by its services", put(entry), ["ServiceEntry/shop/e"]],
    ["a ServiceEntry not as an object, which has no effect", put(aConfig("ServiceEntry", "shop", "e", {})), []],
    ["a Service of Kubernetes is not", [service as Change], []],
    ["a service that is gone is not", [removed(put(entry)[0] as Change)], []],
  ];
  for (const [title, changes, want] of kinds) it(title, () => assert.deepEqual(noted(...changes), want));

  it("are the last 500", () => {
    const all = Array.from({ length: 501 }, (_, i) => aConfig("VirtualService", "shop", `r${i}`, {}));
    const names = noted(...put(...all));
    assert.deepEqual([names.length, names[0]], [500, "VirtualService/shop/r1"]);
  });
});
