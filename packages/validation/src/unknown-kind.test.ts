import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestKind, unknownKindText } from "./unknown-kind.ts";

const cases: readonly (readonly [apiVersion: string, kind: string, expected: string])[] = [
  ["networking.istio.io/v1", "VirtualServise", ": is VirtualService meant?"],
  ["networking.istio.io/v1", "VirtualServices", ": is VirtualService meant?"],
  ["networking.istio.io/v1", "destinationrule", ": is DestinationRule meant?"],
  ["example.com/v1", "VirtualService", ": a VirtualService is of networking.istio.io"],
  ["apps/v1", "Service", ": a Service is of v1"],
  ["example.com/v1", "Widget", ""],
];

for (const [apiVersion, kind, expected] of cases)
  test(`${apiVersion} ${kind}`, () =>
    assert.equal(
      unknownKindText({ apiVersion, kind }),
      `${apiVersion} ${kind} is no kind that is known here${expected}`,
    ));

test("a kind is near whatever its letters are written like", () => {
  assert.equal(nearestKind("virtualservces"), "VirtualService");
  assert.equal(nearestKind("widget"), undefined);
});
