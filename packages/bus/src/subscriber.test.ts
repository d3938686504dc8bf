import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChangeGroup } from "@flotilla/model";
import { GroupGathering, type Member } from "./subscriber.ts";

interface Sent {
  readonly publisher: string;
  readonly group: string;
  readonly size: number;
  readonly key: string;
}

function member({ publisher, group, size, key }: Sent, sequence: number, storedAtMs = 0): Member {
  return {
    subject: key,
    sequence,
    storedAtMs,
    cause: { publisher, epoch: "e", revision: 1, eventTimeMs: 0 },
    group: { id: group, size, sizeInTopic: size },
    change: { type: "config", op: "delete", key: { kind: "Sidecar", namespace: "", name: `${group}/${key}` } },
  };
}

/** "a1 of 2" is the first message of group a, of two members; its publisher is the group's letter. */
const parse = (text: string): Sent => {
  const [name = "", , size = "1"] = text.split(" ");
  return { publisher: name[0] ?? "", group: name.slice(0, 2), size: Number(size), key: name };
};
const describeGroup = ({ changes, position }: ChangeGroup) =>
  `${changes.map(({ key }) => ("name" in key ? key.name.split("/")[1] : "")).join("+")}@${position}`;

const cases: readonly { readonly name: string; readonly sent: readonly string[]; readonly seen: readonly string[] }[] =
  [
    { name: "a group comes whole", sent: ["a1x of 2", "a1y of 2"], seen: ["a1x+a1y@2"] },
    { name: "groups of one come at once", sent: ["a1x of 1", "b1x of 1"], seen: ["a1x@1", "b1x@2"] },
    {
      name: "a position is never beyond what is still open",
      sent: ["a1x of 2", "b1x of 1", "a1y of 2"],
      seen: ["b1x@0", "a1x+a1y@3"],
    },
    {
      name: "members lost to newer values are not waited for when the next group begins",
      sent: ["a1x of 3", "a1y of 3", "a2z of 1"],
      seen: ["a1x+a1y@3", "a2z@3"],
    },
    {
      name: "a message that was stored twice counts once",
      sent: ["a1x of 2", "a1x of 2", "a1y of 2"],
      seen: ["a1x+a1x+a1y@3"],
    },
  ];

describe("group gathering", () => {
  for (const { name, sent, seen } of cases) {
    it(name, () => {
      const groups = new GroupGathering(({ size }) => size);
      const got = sent.flatMap((text, i) => groups.add(member(parse(text), i + 1)));
      assert.deepEqual(got.map(describeGroup), seen);
    });
  }

  it("a publisher that breaks off within a group does not hold its changes back for ever", () => {
    const groups = new GroupGathering(({ size }) => size);
    assert.deepEqual(groups.add(member(parse("a1x of 2"), 1, 1_000)), []);
    assert.deepEqual(groups.add(member(parse("b1x of 1"), 2, 5_000)).map(describeGroup), ["b1x@0"]);
    assert.deepEqual(groups.add(member(parse("b2x of 1"), 3, 12_000)).map(describeGroup), ["a1x@3", "b2x@3"]);
  });

  it("the rest of a group whose beginning was stored is not waited for in vain", () => {
    const groups = new GroupGathering(({ size }) => size);
    groups.begin([member(parse("a1x of 3"), 1), member(parse("a1y of 3"), 2)], 2);
    assert.equal(groups.position, 2);
    assert.deepEqual(groups.add(member(parse("a1z of 3"), 3)).map(describeGroup), ["a1z@3"]);
  });

  it("whatever the mix: every group once and whole, and a position loses nothing", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const sent = mix(seed);
      const groups = new GroupGathering(({ size }) => size);
      const seen = new Set<string>();
      sent.forEach((one, i) => {
        for (const group of groups.add(member(one, i + 1))) {
          const keys = group.changes.map(({ key }) => ("name" in key ? key.name : ""));
          const [id = ""] = keys[0]?.split("/") ?? [];
          assert.deepEqual(
            keys,
            sent.filter(({ group: of }) => of === id).map(({ key }) => `${id}/${key}`),
            `seed ${seed}`,
          );
          for (const key of keys) assert.ok(!seen.has(key), `${key} came twice, seed ${seed}`);
          for (const key of keys) seen.add(key);
          const before = sent.slice(0, group.position).filter(({ group: of, key }) => !seen.has(`${of}/${key}`));
          // Groups that complete with one message are handed out one after the other.
          assert.ok(
            before.every(({ group: of }) => of === one.group),
            `seed ${seed}`,
          );
        }
      });
      assert.equal(seen.size, sent.length);
      assert.equal(groups.position, sent.length);
    }
  });
});

/** Messages of three publishers, each in its order, mixed. */
function mix(seed: number): readonly Sent[] {
  let state = seed;
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  const queues = ["a", "b", "c"].map((publisher) =>
    Array.from({ length: 1 + random(5) }, (_, n) => {
      const size = 1 + random(4);
      return Array.from({ length: size }, (_, k) => ({ publisher, group: `${publisher}${n}`, size, key: `${k}` }));
    }).flat(),
  );
  const mixed: Sent[] = [];
  while (queues.some(({ length }) => length > 0)) {
    const next = queues[random(3)]?.shift();
    if (next !== undefined) mixed.push(next);
  }
  return mixed;
}
