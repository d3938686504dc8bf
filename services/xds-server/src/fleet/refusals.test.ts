/** Rejections by proxies, with the objects behind them: found by the inputs that the rejected resources were made from. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import type { Rejection } from "@flotilla/xds";
import type { InputObject } from "../app/input-objects.ts";
import { aReceipt, aStream, aTypeRecord } from "../testing/stream.ts";
import { Refusals } from "./refusals.ts";

const clusters = typeUrl.cluster;
const inputs: Readonly<Record<string, readonly InputObject[]>> = {
  "config/a": [{ input: "config/a", object: "VirtualService/shop/a" }],
  "row/b": [{ input: "config/b", object: "DestinationRule/shop/b" }],
  mesh: [{ input: "mesh", object: "MeshConfig" }],
};
const madeFrom: Readonly<Record<string, readonly string[]>> = { one: ["config/a", "mesh"], two: ["row/b", "mesh"] };

function refusals(lastChange: Readonly<Record<string, number>>) {
  let explained = 0;
  const found = new Refusals({
    core: {
      subjectOf: (proxy) => ({ proxy, targets: [] }),
      explain: (_subject, _type, name) => {
        explained++;
        return madeFrom[name] ?? [];
      },
      objectsOf: (input) => inputs[input] ?? [],
    },
    lastChange: (input) => lastChange[input],
    nowMs: () => 77,
  });
  return { found, explained: () => explained };
}

const rejection = (message: string) => ({ nonce: "n", message }) as Rejection & object;
const stream = aStream("1", {
  [clusters]: aTypeRecord({ sent: aReceipt("n2", 9), acknowledged: aReceipt("n1", 5) }),
});
const receipt = aReceipt("n3", 10);

describe("the objects behind a refusal", () => {
  const cases: readonly (readonly [string, readonly string[], Readonly<Record<string, number>>, readonly string[]])[] =
    [
      ["what changed since the last acknowledgement", ["one"], { "config/a": 7, mesh: 5 }, ["VirtualService/shop/a"]],
      ["everything when nothing of it changed", ["one"], {}, ["MeshConfig", "VirtualService/shop/a"]],
      ["what stands in a row counts by the object itself", ["two"], { "config/b": 6 }, ["DestinationRule/shop/b"]],
      ["of several resources each object once", ["one", "two"], { mesh: 8 }, ["MeshConfig"]],
      ["none of a resource that is not known", ["none"], {}, []],
      ["none without names", [], {}, []],
    ];
  for (const [name, names, lastChange, objects] of cases)
    it(name, () => {
      const { found } = refusals(lastChange);
      found.observer.rejected?.(stream, clusters, rejection("bad"), names);
      assert.deepEqual(found.list(), [
        {
          proxy: "app.shop",
          typeUrl: clusters,
          resources: names,
          objects,
          message: "bad",
          position: 9,
          atMs: 77,
          sinceMs: 77,
        },
      ]);
    });
});

describe("refusals", () => {
  it("of a type end when it is acknowledged, those of other types stay", () => {
    const { found } = refusals({});
    found.observer.rejected?.(stream, clusters, rejection("bad"), []);
    found.observer.rejected?.(stream, typeUrl.listener, rejection("worse"), []);
    found.observer.acknowledged?.(stream, clusters, receipt);
    assert.deepEqual(
      found.list().map(({ message }) => message),
      ["worse"],
    );
  });

  it("stay when a message without the rejected resources is acknowledged", () => {
    const { found } = refusals({});
    const withheld = aStream("1", { [clusters]: aTypeRecord({ rejection: rejection("bad") }) });
    found.observer.rejected?.(withheld, clusters, rejection("bad"), []);
    found.observer.acknowledged?.(withheld, clusters, receipt);
    assert.deepEqual(
      found.list().map(({ message }) => message),
      ["bad"],
    );
  });

  it("end with their stream", () => {
    const { found } = refusals({});
    const other = aStream("2");
    for (const one of [stream, other]) found.observer.rejected?.(one, clusters, rejection(one.id), []);
    found.observer.closed?.(stream, "gone");
    assert.deepEqual(
      found.list().map(({ message }) => message),
      ["2"],
    );
  });

  it("are explained once, and again when there is another", () => {
    const { found, explained } = refusals({});
    found.observer.rejected?.(stream, clusters, rejection("bad"), ["one"]);
    found.list();
    found.list();
    assert.equal(explained(), 1);
    found.observer.rejected?.(stream, clusters, rejection("bad again"), ["one"]);
    assert.deepEqual([found.list()[0]?.message, explained()], ["bad again", 2]);
  });

  it("keep both ends of a long message, and twenty names", () => {
    const { found } = refusals({});
    const names = Array.from({ length: 21 }, (_, i) => `r${i}`);
    found.observer.rejected?.(stream, clusters, rejection(`begin${"x".repeat(1_000)}end`), names);
    const [{ message = "", resources = [] } = {}] = found.list();
    assert.match(message, /^beginx{495} … x{497}end$/);
    assert.equal(resources.length, 20);
    found.observer.rejected?.(stream, clusters, rejection("y".repeat(1_000)), []);
    assert.equal(found.list()[0]?.message, "y".repeat(1_000));
  });

  it("are listed up to a hundred", () => {
    const { found } = refusals({});
    for (let i = 0; i < 101; i++) found.observer.rejected?.(aStream(`${i}`), clusters, rejection("bad"), []);
    assert.equal(found.list().length, 100);
  });
});
