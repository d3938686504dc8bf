import assert from "node:assert/strict";
import { it } from "node:test";
import { createMetrics, delay, noopLogger } from "@flotilla/runtime";
import { freePort } from "@flotilla/servers";
import { followMesh } from "./follow-mesh.ts";
import { MeshTrust } from "./mesh-trust.ts";

it("a bus that refuses connections holds the start up for less than one that says nothing", async () => {
  const trust = new MeshTrust({ trustDomain: undefined, aliases: [], file: "/nonexistent/mesh.json", log: noopLogger });
  const conditions = new Map<string, string | undefined>();
  const health = { setCondition: (name: string, reason?: string) => void conditions.set(name, reason) };
  await using mesh = followMesh(
    `nats://127.0.0.1:${await freePort()}`,
    {
      ...{ trust, isRestored: false, hasBusCertificate: true, replicas: 1, log: noopLogger },
      seal: Promise.resolve(undefined),
      ...{ health, metrics: createMetrics(), onBus: () => Promise.resolve() },
    },
    new AbortController().signal,
  );
  const begin = performance.now();
  // Differs from the 5 s of a bus that is silent by more than a busy machine takes for the second that is meant.
  const first = await Promise.race([mesh.known.then(() => "known"), delay(4_500).then(() => "silence")]);
  assert.equal(first, "known");
  assert.ok(performance.now() - begin >= 900, "a bus that is just starting gets a moment");
  await mesh.away;
  assert.match(conditions.get("mesh") ?? "", /no mesh configuration received yet/);
});
