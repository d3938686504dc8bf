/** Differences between two generations, as text. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answerPages } from "../answering-service.fixture.ts";
import { recordRun } from "../recorded-run.fixture.ts";
import { describeDiff } from "./diff-generations.ts";

it("differences are shown object by object, withheld ones by name", () => {
  assert.equal(describeDiff({ from: 1, to: 2, objects: [] }), "nothing differs between 1 and 2");
  const text = describeDiff({
    from: 1,
    to: 2,
    objects: [
      { object: "VirtualService/shop/web", op: "changed", before: { a: 1 }, after: { a: 2 } },
      { object: "Secret/shop/key", op: "deleted", withheld: "too large" },
    ],
  });
  assert.match(text, /generation 1/);
  assert.match(text, /^-\s*a: 1$/m);
  assert.match(text, /^\+\s*a: 2$/m);
  assert.equal(text.trimEnd().split("\n").at(-1), "Secret/shop/key deleted, not shown: too large");
});

describe("flotilla diff of two generations", () => {
  const object = { object: "Gateway/shop/g", op: "created", after: { port: 80 } };

  it("asks for their contents, and ends with 1 where they differ", async () => {
    let objects: readonly object[] = [object];
    await using service = await answerPages(() => ({ body: { from: 7, to: 9, objects } }));
    const diff = (...args: readonly string[]) =>
      recordRun(["diff", "7", "9", "--url", `config-controller=${service.url}`, ...args]);
    const different = await diff();
    assert.equal(different.code, 1);
    assert.match(different.out, /^\+\s*port: 80$/m);
    assert.equal(service.seen[0]?.url, "/debug/diff?from=7&to=9&contents=true");
    assert.deepEqual(JSON.parse((await diff("-o", "json")).out).objects, [object]);
    objects = [];
    const same = await diff();
    assert.deepEqual([same.code, same.out], [0, "nothing differs between 7 and 9\n"]);
  });

  for (const args of [["7"], ["7", "8", "9"], ["7", "8", "-f", "x.yaml"]])
    it(`is refused for ${args.join(" ")}`, async () => {
      const { code, err } = await recordRun(["diff", ...args, "--url", "config-controller=http://127.0.0.1:1"]);
      assert.equal(code, 2);
      assert.match(err, /diff needs -f FILE or two generations/);
    });
});
