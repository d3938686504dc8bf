/** The record of an issued certificate: where its holder runs, by its token, by what it claims, or by the address that it calls from. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Authenticated, Caller } from "@flotilla/auth";
import { buildCsr, certificatePem, csrPem, generatePrivateKey, issueRoot, privateKeyPem } from "@flotilla/pki";
import { create } from "@flotilla/proto";
import { IstioCertificateRequestSchema } from "@flotilla/proto/security/v1alpha1/ca_pb";
import { createMetrics, noopLogger } from "@flotilla/runtime";
import { declareMetrics } from "../metrics.ts";
import { readMaterial } from "../roots/material.ts";
import type { Holding } from "../rotation/ledger.ts";
import { FairQueue } from "../sign/fair-queue.ts";
import { createCertificate, type IssuerParts } from "./create-certificate.ts";

const nowMs = 1_700_000_000_000;
const hourMs = 3_600_000;
const identity = "spiffe://cluster.local/ns/shop/sa/web";
const serial = Buffer.alloc(16, 9);
const [caKey, key] = [await generatePrivateKey("ecdsa-p256"), await generatePrivateKey("ecdsa-p256")];
const times = { notBeforeMs: nowMs - hourMs, notAfterMs: nowMs + 100 * hourMs };
const rootPem = certificatePem(issueRoot({ serial, subject: { organization: "x" }, ...times }, caKey));
const files = { certificatePem: rootPem, keyPem: privateKeyPem(caKey), rootsPem: rootPem };
const material = readMaterial({ ...files, origin: "self-signed" }, [], nowMs);
const csr = csrPem(buildCsr({ key }));

interface Asked {
  readonly kubernetes?: Authenticated["kubernetes"];
  readonly instance?: string;
  readonly from?: string;
  readonly forwardedFor?: string;
  readonly longestTtlMs?: number;
}

/** The records of one request, and the line that its authentication waited in. */
async function recorded({ kubernetes, instance, from = "10.0.0.1:4000", forwardedFor, longestTtlMs = hourMs }: Asked) {
  const records: Holding[] = [];
  const lines: string[] = [];
  const free = new FairQueue({ maxPending: 10, maxPendingPerIdentity: 10 });
  const proof: Authenticated = {
    ...{ authenticated: true, authenticator: "test", identities: [identity], principal: identity },
    ...(kubernetes !== undefined && { kubernetes }),
  };
  const parts = {
    authenticator: { name: "test", authenticate: async () => proof },
    material: () => material,
    delegate: { defaultSigner: undefined, signerDomain: undefined },
    ttl: { defaultTtlMs: 2 * hourMs, maxTtlMs: 4 * hourMs },
    serving: { accounts: [], serverAccounts: [], customHosts: [], trustDomains: () => ["cluster.local"] },
    node: {},
    intake: {
      run: <T>(line: string, work: () => T) => {
        lines.push(line);
        return free.run(line, work);
      },
    },
    queue: free,
    moreRootsPem: () => "",
    longestTtlMs: () => longestTtlMs,
    record: (holding: Holding) => void records.push(holding),
    metrics: declareMetrics(createMetrics(), { material: () => material, waiting: () => 0, nowMs: () => nowMs }),
    ...{ log: noopLogger, nowMs: () => nowMs, randomSerial: () => serial },
  };
  const metadata = new Map(forwardedFor === undefined ? [] : [["x-forwarded-for", [forwardedFor]]]);
  const caller: Caller = { metadata, remoteAddress: from };
  const request = create(IstioCertificateRequestSchema, {
    csr,
    ...(instance !== undefined && { metadata: { Instance: instance } }),
  });
  const outcome = await createCertificate(request, caller, parts as unknown as IssuerParts);
  assert.ok("chain" in outcome, JSON.stringify(outcome));
  return { records, lines };
}

const pod = { cluster: "c", namespace: "shop", podName: "web-1", podUid: "u1" };
const account = { serviceAccount: "web" };

const places: readonly (readonly [name: string, asked: Asked, place: string])[] = [
  ["the pod of its token", { kubernetes: { ...pod, ...account } }, "pod shop/web-1 u1"],
  ["the instance that it claims", { instance: "vm-1" }, "instance vm-1"],
  [
    "the instance that it claims, before the pod",
    { instance: "vm-1", kubernetes: { ...pod, ...account } },
    "instance vm-1",
  ],
  ["no instance of two words", { instance: "vm 1" }, "host 10.0.0.1"],
  ["the host that it calls from", {}, "host 10.0.0.1"],
  ["the host that it calls from by IPv6", { from: "[fd00::1]:4000" }, "host [fd00::1]"],
  ["the host that handed it on", { forwardedFor: "10.0.0.7, 10.0.0.8" }, "host 10.0.0.8"],
  ["no host that is no address", { forwardedFor: "web" }, "host 10.0.0.1"],
];

describe("a certificate is recorded for", () => {
  for (const [name, asked, place] of places)
    it(name, async () => {
      const [holding, ...more] = (await recorded(asked)).records;
      assert.deepEqual([holding?.place, more], [place, []]);
    });
});

describe("the record of a certificate", () => {
  it("names the pod only where its token has the cluster, the name and the UID", async () => {
    const podOf = async (kubernetes: Asked["kubernetes"]) => {
      const [holding] = (await recorded(kubernetes === undefined ? {} : { kubernetes })).records;
      return holding !== undefined && "pod" in holding ? holding.pod : "none";
    };
    const { cluster, podUid, podName, namespace } = pod;
    assert.deepEqual(await podOf({ ...pod, ...account }), { cluster, namespace, name: podName, uid: podUid });
    assert.equal(await podOf({ namespace, podName, podUid, ...account }), "none");
    assert.equal(await podOf({ cluster, namespace, podUid, ...account }), "none");
    assert.equal(await podOf({ cluster, namespace, podName, ...account }), "none");
    assert.equal(await podOf(undefined), "none");
  });
  it("has the identity, the roots, and the life that is left to it in a rotation", async () => {
    const [holding] = (await recorded({ longestTtlMs: 60_000 })).records;
    const { rootId: issuer, rootIds: roots } = material;
    const times = { issuedMs: nowMs, notAfterMs: nowMs + 60_000 };
    assert.deepEqual(holding, { identity, place: "host 10.0.0.1", issuer, roots, ...times });
  });
  it("is made after a wait in the line of the caller's host, whatever its port", async () => {
    const linesFrom = async (from: string) => (await recorded({ from })).lines;
    assert.deepEqual(await linesFrom("10.0.0.1:4000"), await linesFrom("10.0.0.1:4001"));
    assert.notDeepEqual(await linesFrom("10.0.0.1:4000"), await linesFrom("10.0.0.2:4000"));
  });
});
