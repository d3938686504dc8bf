/** Events from two looks at what is recent, and what callers of one namespace get of them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ConsoleEvent, eventsBetween, type Recent, within } from "./recent.ts";

const quiet: Recent = {
  generation: 7,
  generations: [{ generation: 7, at: "", by: "api", changes: 0, objects: [] }],
  rejections: [],
  rejectionCount: 0,
  fleet: { total: 2, synced: 2, sending: 0, rejected: 0 },
  arrivals: [],
};
const object = "VirtualService/shop/web";
const rejection = { object, type: "rds", message: "bad", proxyCount: 1 };
const generation = (number: number) => ({
  ...{ generation: number, at: "", by: "istio-system/admin (API)", changes: 1 },
  objects: [{ object, op: "changed" as const }],
});
const arrival = (live: number, rejected = 0) => ({ object, live, concerned: 2, rejected });

const cases: readonly {
  readonly name: string;
  readonly before?: Partial<Recent>;
  readonly now?: Partial<Recent>;
  readonly expected: readonly ConsoleEvent[];
}[] = [
  { name: "nothing is news while nothing changes", expected: [] },
  {
    name: "generations come one by one, the oldest first",
    now: { generation: 9, generations: [generation(9), generation(8), ...quiet.generations] },
    expected: [
      { type: "generation", data: generation(8) },
      { type: "generation", data: generation(9) },
    ],
  },
  {
    name: "a sequence that began anew asks to read again",
    now: { generation: 1, generations: [generation(1)] },
    expected: [{ type: "resync", data: {} }],
  },
  {
    name: "a rejection is added with the object that is blamed",
    now: { rejections: [rejection], rejectionCount: 1 },
    expected: [{ type: "rejections", data: { count: 1, added: [rejection], cleared: [] } }],
  },
  {
    name: "a rejection that was there before is not added again beside another",
    before: { rejections: [rejection], rejectionCount: 1 },
    now: { rejections: [{ ...rejection, type: "lds" }, rejection], rejectionCount: 2 },
    expected: [{ type: "rejections", data: { count: 2, added: [{ ...rejection, type: "lds" }], cleared: [] } }],
  },
  {
    name: "a rejection of more proxies, or in other words, is added again",
    before: { rejections: [rejection, { type: "lds", message: "m", proxyCount: 1 }], rejectionCount: 2 },
    now: {
      rejections: [
        { ...rejection, message: "worse" },
        { type: "lds", message: "m", proxyCount: 2 },
      ],
      rejectionCount: 2,
    },
    expected: [
      {
        type: "rejections",
        data: {
          count: 2,
          added: [
            { ...rejection, message: "worse" },
            { type: "lds", message: "m", proxyCount: 2 },
          ],
          cleared: [],
        },
      },
    ],
  },
  {
    name: "a rejection that is over is cleared",
    before: { rejections: [rejection], rejectionCount: 1 },
    expected: [{ type: "rejections", data: { count: 0, added: [], cleared: [object] } }],
  },
  {
    name: "proxies that fall behind change the fleet",
    now: { fleet: { total: 2, synced: 1, sending: 1, rejected: 0 } },
    expected: [{ type: "fleet", data: { total: 2, byState: { synced: 1, sending: 1, rejected: 0 } } }],
  },
  {
    name: "an object on its way is open",
    before: { arrivals: [arrival(0)] },
    now: { arrivals: [arrival(1)] },
    expected: [
      { type: "objects", data: { open: [{ object, live: 1, concerned: 2, state: "arriving" }], settled: [] } },
    ],
  },
  {
    name: "an object that has arrived is settled",
    before: { arrivals: [arrival(1)] },
    now: { arrivals: [arrival(2)] },
    expected: [{ type: "objects", data: { open: [], settled: [object] } }],
  },
];

describe("events between two looks", () => {
  for (const { name, before = {}, now = {}, expected } of cases)
    it(name, () => assert.deepEqual(eventsBetween({ ...quiet, ...before }, { ...quiet, ...now }), expected));
  it("there are none at the first look", () => assert.deepEqual(eventsBetween(undefined, quiet), []));
});

describe("a caller of one namespace", () => {
  const events = eventsBetween(quiet, {
    ...quiet,
    ...{
      generation: 8,
      generations: [generation(8), ...quiet.generations],
      rejections: [rejection],
      rejectionCount: 1,
    },
    fleet: { total: 3, synced: 3, sending: 0, rejected: 0 },
  });
  const seen = (namespace: string) => events.flatMap((event) => within(namespace, event) ?? []);

  it("gets what is of it", () =>
    assert.deepEqual(
      seen("shop").map(({ type }) => type),
      ["generation", "rejections"],
    ));
  it("gets of others that there is a generation, and nothing in it", () => {
    const [event, ...more] = seen("bank");
    assert.deepEqual(more, []);
    assert.ok(event?.type === "generation");
    assert.deepEqual([event.data.objects, event.data.by], [[], ""]);
  });
});
