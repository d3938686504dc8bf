import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Json } from "./pod.ts";
import { mergeStrategically } from "./strategic-merge.ts";

const cases: readonly { name: string; base: Json; overlay: Json; want: Json }[] = [
  {
    name: "fields merge, null deletes",
    base: { a: { b: 1, c: 2 } },
    overlay: { a: { c: null, d: 3 } },
    want: { a: { b: 1, d: 3 } },
  },
  { name: "plain lists are replaced", base: { args: ["a", "b"] }, overlay: { args: ["c"] }, want: { args: ["c"] } },
  {
    name: "lists with a key merge by it, new items first",
    base: { containers: [{ name: "app", image: "x" }] },
    overlay: { containers: [{ name: "proxy" }, { name: "app", tty: true }] },
    want: { containers: [{ name: "proxy" }, { name: "app", image: "x", tty: true }] },
  },
  {
    name: "items of the base stay before those that followed them",
    base: { env: [{ name: "A" }, { name: "B" }, { name: "C" }] },
    overlay: { env: [{ name: "B", value: "2" }, { name: "D" }] },
    want: { env: [{ name: "A" }, { name: "B", value: "2" }, { name: "D" }, { name: "C" }] },
  },
  {
    name: "ports merge by number, mounts by path",
    base: { ports: [{ containerPort: 80 }], volumeMounts: [{ mountPath: "/a", name: "x" }] },
    overlay: { ports: [{ containerPort: 80, name: "http" }], volumeMounts: [{ mountPath: "/a", name: "y" }] },
    want: { ports: [{ containerPort: 80, name: "http" }], volumeMounts: [{ mountPath: "/a", name: "y" }] },
  },
  {
    name: "an item is deleted by directive",
    base: { volumes: [{ name: "a" }, { name: "b" }] },
    overlay: { volumes: [{ name: "a", $patch: "delete" }] },
    want: { volumes: [{ name: "b" }] },
  },
  {
    name: "an object is replaced by directive",
    base: { securityContext: { runAsUser: 1 } },
    overlay: { securityContext: { $patch: "replace", runAsGroup: 2 } },
    want: { securityContext: { runAsGroup: 2 } },
  },
];

describe("mergeStrategically", () => {
  for (const { name, base, overlay, want } of cases) {
    it(name, () => {
      const untouched = structuredClone(base);
      assert.deepEqual(mergeStrategically(base, overlay), want);
      assert.deepEqual(base, untouched);
    });
  }
});
