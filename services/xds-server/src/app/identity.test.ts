/** The identity of a replica without a cluster: tokens of the issuers that the settings name, and a certificate that waits for the mesh. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { trustBundleKind } from "@flotilla/auth";
import type { Change } from "@flotilla/model";
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

/** By OpenSSL: the serial 0c. */
const list = `-----BEGIN X509 CRL-----
MIG4MGECAQEwCgYIKoZIzj0EAwIwDDEKMAgGA1UECgwBeBcNMjYxMTIyMTk1MTAx
WhcNMjYxMjIyMTk1MTAxWjAUMBICAQwXDTI2MDEwMTAwMDAwMFqgDjAMMAoGA1Ud
FAQDAgEBMAoGCCqGSM49BAMCA0cAMEQCIBE/bIhwZux2T5O7n9IN5xBYVd0RGzAR
RX/D6F2Vddl6AiAffT4yq2E1DNm1wyXvM0OHPmYEPqLW+dq3pIR/YjAuPA==
-----END X509 CRL-----
`;

it("lists that are new are announced once they are in force with the changes around them", () => {
  const revocations = new Revocations(noopLogger);
  let announced = 0;
  const { beforeApply, afterApply } = revocations.follow(() => announced++);
  const key = { kind: trustBundleKind, namespace: "istio-system", name: "ca" };
  const bundle = (crls: string): Change => ({
    ...{ type: "config", op: "put", key },
    value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: { crls } },
  });
  const counts = [[], [bundle(list)], [bundle(list)], [{ type: "config", op: "delete", key } as const]].map(
    (changes) => {
      beforeApply?.(changes, {} as never);
      const before = announced;
      afterApply?.(changes, {} as never);
      return [revocations.crls.length, before, announced];
    },
  );
  assert.deepEqual(counts, [
    [0, 0, 0],
    [1, 0, 1],
    [1, 1, 1],
    [0, 1, 2],
  ]);
});
