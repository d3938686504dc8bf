/** Findings that are hidden, by options and by the object itself. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { meshObject } from "./mesh-object.ts";
import { isSuppressed, isSuppressedByObject, parseSuppression } from "./suppression.ts";

const finding = {
  code: "IST0103",
  level: "Warning",
  object: { kind: "Pod", namespace: "testing", name: "web-1" },
  field: "",
  message: "",
} as const;

const cases: readonly (readonly [text: string, isHidden: boolean | undefined])[] = [
  ["IST0103=Pod web-1.testing", true],
  ["IST0103=Pod *.testing", true],
  ["IST0103=Pod web-*", true],
  ["IST0103=* *", true],
  ["IST0103=Pod *.other", false],
  ["IST0103=Pod web.1.testing", false],
  ["IST0103=Pod *web*1*", true],
  ["IST0103=Pod *1*web*", false],
  ["IST0103=Pod *db*", false],
  ["IST0103=Pod web-1.testing*testing", false],
  ["IST0103=P* *ing", true],
  ["IST0102=Pod web-1.testing", false],
  ["IST0103=Service web-1.testing", false],
  ["IST0103", undefined],
  ["IST0103=Pod", undefined],
  ["=Pod web-1.testing", undefined],
];

describe("suppression", () => {
  for (const [text, isHidden] of cases)
    it(`by ${text} ${isHidden === undefined ? "is wrong usage" : isHidden ? "hides the finding" : "leaves the finding"}`, () => {
      const parsed = parseSuppression(text);
      assert.equal(parsed === undefined ? undefined : isSuppressed(finding, [parsed]), isHidden);
    });

  for (const [annotation, isHidden] of [
    ["IST0103", true],
    ["IST0102, IST0103", true],
    ["*", true],
    ["IST010", false],
    ["", false],
  ] as const)
    it(`by the annotation ${JSON.stringify(annotation)} ${isHidden ? "hides" : "leaves"} the finding`, () => {
      const annotations = { "galley.istio.io/analyze-suppress": annotation };
      const pod = meshObject({ apiVersion: "v1", kind: "Pod", metadata: { name: "web-1", annotations } });
      assert.equal(pod !== undefined && isSuppressedByObject("IST0103", pod), isHidden);
    });
});
