/** Services of ServiceEntries as ztunnels are sent them: with what the object itself has. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { aKubeMesh, anEntry } from "../../testing/kube-mesh.ts";
import { aSidecar } from "../../testing/mesh.ts";
import { serviceText } from "../row-index.ts";
import { query } from "../view.ts";
import { ambientService } from "./services.ts";

const facts = query("facts-of-an-entry", (view) =>
  view.read(ambientService, serviceText.write({ namespace: "shop", hostname: "ledger.shop.example" })),
);

test("the ports of a ServiceEntry lead to its target ports", () => {
  const entry = anEntry("ledger", { ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }] });
  const core = aKubeMesh([entry], { env: { PILOT_ENABLE_AMBIENT: "true" } });
  assert.deepEqual(core.read(facts, core.subjectOf(aSidecar("shop")))?.ports, [
    { name: "http", number: 80, protocol: "HTTP", target: 8080 },
  ]);
});
