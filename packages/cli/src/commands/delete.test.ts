import assert from "node:assert/strict";
import { it, describe as suite } from "node:test";
import { describeDeleted } from "./delete.ts";

const object = { kind: "VirtualService", namespace: "shop", name: "reviews" };
const inForce = { source: "file", location: "/mesh/routes.yaml:3" };

suite("flotilla delete", () => {
  const cases = [
    { name: "an object", result: "deleted", shown: "VirtualService shop/reviews deleted" },
    { name: "one that is nowhere", result: "not found", shown: "VirtualService shop/reviews not found" },
    {
      name: "one of a file",
      result: "not found",
      inForce,
      shown:
        "VirtualService shop/reviews is not deleted: it belongs to the file /mesh/routes.yaml:3. Remove it from the file, or delete the file; the mesh follows.",
    },
    {
      name: "one that a file has too",
      result: "deleted",
      inForce,
      shown: "VirtualService shop/reviews deleted; the one of the file /mesh/routes.yaml:3 stays in force",
    },
    {
      name: "one of another control plane",
      result: "not found",
      inForce: { source: "xds://istiod:15010" },
      shown: "VirtualService shop/reviews is not deleted: it belongs to xds://istiod:15010. Delete it there.",
    },
  ] as const;
  for (const { name, shown, ...item } of cases)
    it(`${name}: ${item.result}`, () => assert.equal(describeDeleted({ ...object, ...item }), shown));
});
