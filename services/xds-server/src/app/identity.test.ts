/** The identity of a replica without a cluster: tokens of the issuers that the settings name, and a certificate that waits for the mesh. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { readSettings, type XdsService } from "../settings.ts";
import { openIdentity, Revocations } from "./identity.ts";
import { ServedMesh } from "./mesh.ts";

it("callers with a token of no known issuer are refused, on streams and pages", async () => {
  const settings = readSettings({});
  const service = { settings, log: noopLogger } as unknown as XdsService;
  const mesh = new ServedMesh(settings);
  await using identity = await openIdentity(service, { mesh, revocations: new Revocations(noopLogger) });
  assert.equal(identity.cluster, undefined);
  const caller = {
    metadata: new Map([["authorization", ["Bearer a.b.c"]]]),
    remoteAddress: "192.0.2.1:1",
  };
  for (const authenticator of [identity.peers.authenticator, identity.pageCallers]) {
    const verdict = await authenticator.authenticate(caller);
    assert.equal(verdict.authenticated, false);
    assert.doesNotMatch(verdict.authenticated ? "" : verdict.reason, /not a function|review/i);
  }
});
