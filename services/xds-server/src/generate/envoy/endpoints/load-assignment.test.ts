/** Endpoints of a cluster that is not known. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { unknownCluster } from "./endpoint-inputs.ts";
import { assignmentEndpoints } from "./load-assignment.ts";

test("an unknown cluster has a name and no endpoint", () => {
  const inputs = unknownCluster("outbound|80||gone.shop");
  assert.equal(inputs.clusterName, "outbound|80||gone.shop");
  assert.deepEqual(assignmentEndpoints(inputs), []);
});
