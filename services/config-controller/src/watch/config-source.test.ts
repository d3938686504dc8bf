/** Objects that are labelled for a revision: kinds of the mesh are read by that one alone, on others the label has another meaning. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { configChangeOf } from "./config-source.ts";

const cases: readonly (readonly [name: string, kind: string, revision: string | undefined, op: "put" | "delete"])[] = [
  ["a kind of Istio for another revision is gone from here", "VirtualService", "other", "delete"],
  ["a kind of Istio for this revision is read", "VirtualService", "own", "put"],
  ["a kind of Istio without the label is read", "VirtualService", undefined, "put"],
  ["a kind of the Gateway API for another revision is gone from here", "HTTPRoute", "other", "delete"],
  ["a Namespace labelled with another revision is read", "Namespace", "other", "put"],
  ["a Secret labelled with another revision is read", "Secret", "other", "put"],
];

describe("by their revision", () => {
  for (const [name, kind, revision, op] of cases)
    it(name, () => {
      const labels: Config["labels"] = revision === undefined ? {} : { "istio.io/rev": revision };
      const key = { kind, namespace: "shop", name: "a" };
      const change = configChangeOf({ key, labels, annotations: {}, creationTimeMs: 0, spec: {} }, "own");
      assert.deepEqual([change.op, change.key], [op, key]);
    });
});
