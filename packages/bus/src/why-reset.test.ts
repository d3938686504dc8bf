/** Continuation of a reader from its position, and the reasons against it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { markText, readMark, whyReset } from "./bus.ts";

const from = { position: 10, epoch: "e", mark: { sequence: 12, storedAtMs: 1_000 } };
const now = { last: 20, epoch: "e", horizon: 0, marked: "same" } as const;

const cases: readonly (readonly [string, Parameters<typeof whyReset>, RegExp | undefined])[] = [
  ["the same server goes on", [from, now], undefined],
  ["the message that was read is there", [from, { ...now, marked: 1_000 }], undefined],
  ["another one is in its place", [from, { ...now, marked: 1_001 }], /message 12 .* rewound and written on/],
  ["its subject has a newer value by now", [from, { ...now, marked: "replaced" }], /message 12 was replaced/],
  ["the stream ends before the message", [from, { ...now, last: 11 }], /position 12 lies after the stream's end, 11/],
  [
    "the stream ends before the position",
    [
      { ...from, mark: undefined },
      { ...now, last: 9 },
    ],
    /position 10/,
  ],
  ["another stream", [from, { ...now, epoch: "f" }], /made anew/],
  ["deletes were forgotten behind the position", [from, { ...now, horizon: 11 }], /forgotten/],
  [
    "nothing was read",
    [
      { ...from, position: 0 },
      { ...now, epoch: "f", marked: 1 },
    ],
    undefined,
  ],
  [
    "no message is known of the position",
    [
      { ...from, mark: undefined },
      { ...now, marked: "replaced" },
    ],
    undefined,
  ],
];

describe("a reader's position", () => {
  for (const [name, parameters, expected] of cases)
    it(name, () => {
      const reason = whyReset(...parameters);
      if (expected === undefined) assert.equal(reason, undefined);
      else assert.match(reason ?? "", expected);
    });

  it("a mark comes back from its text; other texts are none", () => {
    assert.deepEqual(readMark(markText(from.mark)), from.mark);
    for (const text of [undefined, "", "12", "12/", "/1", "-1/2", "1/2/3", "1e3/2", "1234567890123456/1"])
      assert.equal(readMark(text), undefined, text);
  });
});
