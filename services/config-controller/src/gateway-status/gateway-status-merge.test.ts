import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isWritten, stampedStatus } from "./gateway-status-merge.ts";
import { StoredObjects } from "./stored-objects.ts";

const own = "istio.io/gateway-controller";
const condition = (type: string, status = "True") => ({ type, status, reason: "R", message: "m" });
const stamped = (type: string, lastTransitionTime: string, status = "True") => ({
  ...condition(type, status),
  ...{ lastTransitionTime, observedGeneration: 3 },
});
const stamp = { generation: 3, now: "now" };
const status = (fields: object, before: unknown, of: { generation: number | undefined; now: string } = stamp) =>
  stampedStatus(fields as never, before, of);

describe("a status with its times", () => {
  it("has the time of the last change of each condition, and the generation", () => {
    const before = { conditions: [stamped("A", "then"), stamped("B", "then", "False")] };
    assert.deepEqual(
      status({ conditions: [condition("A"), condition("B"), condition("C")], addresses: ["x"] }, before),
      {
        addresses: ["x"],
        conditions: [stamped("A", "then"), stamped("B", "now"), stamped("C", "now")],
      },
    );
    assert.deepEqual(status({ conditions: [condition("A")] }, undefined, { generation: undefined, now: "now" }), {
      conditions: [{ ...condition("A"), lastTransitionTime: "now" }],
    });
    assert.deepEqual(status({}, before), {});
  });

  it("has listeners by name", () => {
    const before = { listeners: [{ name: "a", conditions: [stamped("A", "then")] }] };
    const listeners = ["a", "b"].map((name) => ({ name, attachedRoutes: 1, conditions: [condition("A")] }));
    assert.deepEqual(status({ listeners }, before), {
      listeners: [
        { name: "a", attachedRoutes: 1, conditions: [stamped("A", "then")] },
        { name: "b", attachedRoutes: 1, conditions: [stamped("A", "now")] },
      ],
    });
  });

  for (const [list, ref] of [
    ["parents", "parentRef"],
    ["ancestors", "ancestorRef"],
  ] as const)
    it(`has ${list} by what they refer to, beside those of others`, () => {
      const entry = (name: string, conditions: readonly object[], controllerName: string = own) => ({
        controllerName,
        [ref]: { name },
        conditions,
      });
      const others = entry("a", [stamped("A", "long ago")], "others");
      const before = { [list]: [entry("gone", [stamped("A", "then")]), entry("a", [stamped("A", "then")]), others] };
      assert.deepEqual(status({ [list]: [entry("a", [condition("A")]), entry("b", [condition("A")])] }, before), {
        [list]: [others, entry("a", [stamped("A", "then")]), entry("b", [stamped("A", "now")])],
      });
    });

  it("has 16 ancestors at most, and all parents", () => {
    const entries = Array.from({ length: 20 }, (_, n) => ({
      controllerName: own,
      ancestorRef: { name: `${n}` },
      conditions: [],
    }));
    const { ancestors, parents } = status({ ancestors: entries, parents: entries }, {}) as unknown as Readonly<
      Record<string, readonly unknown[]>
    >;
    assert.deepEqual([ancestors?.length, parents?.length], [16, 20]);
  });
});

describe("a status is written", () => {
  const cases: readonly (readonly [name: string, wanted: object, before: unknown, expected: boolean])[] = [
    ["where it is as it is to be", { addresses: ["a"] }, { addresses: ["a"], more: 1 }, true],
    ["where another thing is there", { addresses: ["a"] }, { addresses: ["b"] }, false],
    ["where nothing is there", { addresses: ["a"] }, undefined, false],
    ["where nothing is wanted", {}, undefined, true],
    ["where an empty list is wanted and none is there", { parents: [] }, {}, true],
    ["where an empty list is wanted and one is there", { parents: [] }, { parents: ["a"] }, false],
    ["where addresses are there that are not wanted", {}, { addresses: [] }, false],
    ["where listeners are there that are not wanted", {}, { listeners: [] }, false],
    ["where other fields are there that are not wanted", {}, { parents: [] }, true],
    [
      "with conditions of others beside its own",
      { conditions: [condition("A")] },
      { conditions: [condition("B"), condition("A")] },
      true,
    ],
    [
      "without one of its conditions",
      { conditions: [condition("A"), condition("B")] },
      { conditions: [condition("A")] },
      false,
    ],
    [
      "with another status of a condition",
      { conditions: [condition("A")] },
      { conditions: [condition("A", "False")] },
      false,
    ],
    ["without conditions", { conditions: [condition("A")] }, {}, false],
  ];
  for (const [name, wanted, before, expected] of cases)
    it(`${name}: ${expected}`, () => assert.equal(isWritten(wanted as never, before), expected));
});

describe("objects as they are stored", () => {
  const key = { kind: "KubernetesGateway", namespace: "shop", name: "a" };
  const text = "KubernetesGateway/shop/a";

  it("are noted with what a write has to name, and nothing else", () => {
    const objects = new StoredObjects();
    const noted: string[] = [];
    const end = objects.listen((one) => noted.push(one));
    objects.note(key, {
      metadata: { generation: 1, resourceVersion: "7", uid: "u", name: "a" } as never,
      status: { x: 1 },
    });
    assert.deepEqual(objects.get(text), {
      metadata: { generation: 1, resourceVersion: "7", uid: "u" },
      status: { x: 1 },
    });
    objects.note(key, { metadata: {} });
    assert.deepEqual(objects.get(text), { metadata: {}, status: undefined });
    objects.note({ ...key, kind: "VirtualService" }, { metadata: {} });
    assert.deepEqual([objects.get("VirtualService/shop/a"), noted], [undefined, [text, text]]);
    objects.note(key, undefined);
    assert.equal(objects.get(text), undefined);
    end();
    objects.note(key, { metadata: {} });
    assert.equal(noted.length, 2);
    objects.forget(text);
    assert.equal(objects.get(text), undefined);
  });

  it("have one listener, whose successor is not ended by it", () => {
    const objects = new StoredObjects();
    const noted: string[] = [];
    const end = objects.listen(() => noted.push("first"));
    objects.listen(() => noted.push("second"));
    end();
    objects.note(key, { metadata: {} });
    assert.deepEqual(noted, ["second"]);
  });
});
