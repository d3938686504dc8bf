/** Answers to requests for certificates, with the metric that counts each and the line that it leaves in the log. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatIdentity, type Verdict } from "@flotilla/auth";
import {
  buildCsr,
  certificatePem,
  csrPem,
  generatePrivateKey,
  issueRoot,
  parseCertificatesPem,
  privateKeyPem,
  sanOf,
} from "@flotilla/pki";
import { create, type JsonObject } from "@flotilla/proto";
import { IstioCertificateRequestSchema } from "@flotilla/proto/security/v1alpha1/ca_pb";
import { createLogger, createMetrics, refusedCallerLines } from "@flotilla/runtime";
import { CaError } from "../errors.ts";
import { declareMetrics } from "../metrics.ts";
import { readMaterial } from "../roots/material.ts";
import { FairQueue } from "../sign/fair-queue.ts";
import { createCertificate, type IssuerParts } from "./create-certificate.ts";

const nowMs = 1_700_000_000_000;
const hourMs = 3_600_000;
const [caKey, key] = [await generatePrivateKey("ecdsa-p256"), await generatePrivateKey("ecdsa-p256")];
const times = { notBeforeMs: nowMs - hourMs, notAfterMs: nowMs + 100 * hourMs };
const serial = Buffer.alloc(16, 9);
const rootPem = certificatePem(issueRoot({ serial, subject: { organization: "x" }, ...times }, caKey));
const files = { certificatePem: rootPem, keyPem: privateKeyPem(caKey), rootsPem: rootPem };
const material = readMaterial({ ...files, origin: "self-signed" }, [], nowMs);

const identityOf = (namespace: string, serviceAccount: string) =>
  formatIdentity({ trustDomain: "td", namespace, serviceAccount });
const [web, node, xds] = [identityOf("shop", "web"), identityOf("mesh", "ztunnel"), identityOf("mesh", "xds")];
const as = (principal: string, more: object = {}): Verdict => ({
  ...{ authenticated: true, authenticator: "test", identities: [principal], principal },
  ...more,
});
const ofNode = as(node, {
  kubernetes: { cluster: "c", namespace: "mesh", serviceAccount: "ztunnel", podName: "zt", podUid: "u" },
});
/** The pods of one node: ztunnel itself, and one of the account `web`. */
const pods = {
  podOf: () => ({ name: "zt", uid: "u", serviceAccount: "ztunnel", nodeName: "n1" }),
  runsOn: (_: string, name: string, namespace: string, account: string) =>
    name === "n1" && namespace === "shop" && account === "web",
};

interface Asked {
  readonly verdict: Verdict | Error;
  readonly metadata?: JsonObject;
  readonly names?: readonly string[];
  readonly csr?: string;
  readonly parts?: object;
}

async function answered({ verdict, metadata, names = [], csr, parts: more = {} }: Asked) {
  const lines: { readonly level: string; readonly msg: string; readonly askedBy?: string }[] = [];
  const metrics = createMetrics();
  const log = createLogger("ca", "info", { write: (line) => void lines.push(JSON.parse(line)) });
  const queue = new FairQueue({ maxPending: 10, maxPendingPerIdentity: 10 });
  const queued: string[] = [];
  const parts = {
    authenticator: {
      name: "test",
      authenticate: async () => {
        if (verdict instanceof Error) throw verdict;
        return verdict;
      },
    },
    material: () => material,
    delegate: { defaultSigner: undefined, signerDomain: undefined },
    ttl: { defaultTtlMs: hourMs, maxTtlMs: 4 * hourMs },
    serving: {
      ...{ namespace: "mesh", domain: "cluster.local", revision: "default", customHosts: [], accounts: ["xds"] },
      ...{ serverAccounts: [], trustDomains: () => ["td"] },
    },
    node: { clusterId: "c", trustedAccounts: ["mesh/ztunnel"], trustDomains: () => ["td"], pods },
    intake: queue,
    queue: {
      run: <T>(line: string, work: () => T) => {
        queued.push(line);
        return queue.run(line, work);
      },
    },
    ...{ moreRootsPem: () => "", longestTtlMs: () => hourMs, record: () => undefined, log, nowMs: () => nowMs },
    metrics: declareMetrics(metrics, { material: () => material, waiting: () => 0, nowMs: () => nowMs }),
    refusedLines: refusedCallerLines(() => undefined),
    randomSerial: () => serial,
    ...more,
  };
  const text = csr ?? csrPem(buildCsr({ key, sans: names.map(sanOf) }));
  const request = create(IstioCertificateRequestSchema, { csr: text, ...(metadata && { metadata }) });
  const caller = { metadata: new Map(), remoteAddress: "10.0.0.1:4000" };
  const outcome = await createCertificate(request, caller, parts as unknown as IssuerParts);
  const [leaf] = "chain" in outcome ? parseCertificatesPem(outcome.chain.join("")) : [];
  const counted = (await metrics.text())
    .split("\n")
    .filter((line) => line.startsWith("citadel_server_") && line.endsWith(" 1"))
    .map((line) => line.slice("citadel_server_".length, -2))
    .filter((line) => line !== "csr_count");
  return {
    answer: "code" in outcome ? outcome.details : "issued",
    names: leaf?.sans.map(({ value }) => value),
    counted,
    lines: lines.map(({ level, msg }) => `${level} ${msg}`),
    ...{ askedBy: lines[0]?.askedBy, queued },
  };
}

const refused = "warn certificate refused";
const impersonate = (identity: string | number) => ({ metadata: { ImpersonatedIdentity: identity } });
const failed = "csr_sign_err_count{error=";
const refusals: readonly (Asked & {
  readonly name: string;
  readonly answer: string;
  readonly counts: string;
  readonly line: string;
})[] = [
  {
    name: "a caller that proves nothing",
    verdict: { authenticated: false, reason: "no token" },
    ...{ answer: "request authenticate failure", counts: "authentication_failure_count" },
    line: "warn caller not authenticated",
  },
  {
    name: "a caller of another mesh",
    verdict: { authenticated: false, reason: "foreign", foreign: ["spiffe://other/ns/a/sa/b"] },
    ...{ answer: "request authenticate failure", counts: "id_extraction_err_count" },
    line: "warn caller has no identity of this mesh",
  },
  {
    name: "a caller without an identity",
    verdict: { authenticated: true, authenticator: "test", identities: ["a.example"] },
    ...{ answer: "request authenticate failure", counts: "id_extraction_err_count" },
    line: "warn caller has no identity of this mesh",
  },
  {
    name: "a caller whose name is no identity",
    verdict: as("a.example"),
    ...{ answer: "request authenticate failure", counts: "id_extraction_err_count" },
    line: "warn caller has no identity of this mesh",
  },
  {
    name: "a workload that asks for another one",
    ...{ verdict: as(web), ...impersonate(xds), answer: "request impersonation authentication failure" },
    ...{ counts: "authentication_failure_count", line: refused },
  },
  {
    name: "a node that asks for a pod of another node",
    ...{ verdict: ofNode, ...impersonate(xds), answer: "request impersonation authentication failure" },
    ...{ counts: "authentication_failure_count", line: refused },
  },
  {
    name: "a node that asks for what is no text",
    ...{ verdict: ofNode, ...impersonate(7), answer: "request impersonation authentication failure" },
    ...{ counts: "authentication_failure_count", line: refused },
  },
  {
    name: "a request that cannot be read",
    ...{
      verdict: as(web),
      csr: "nonsense",
      answer: "CSR parsing error",
      counts: "csr_parsing_err_count",
      line: refused,
    },
  },
  {
    name: "a service of the control plane that asks for a foreign name",
    ...{ verdict: as(xds), names: ["bank.example"], counts: `${failed}"name"}`, line: refused },
    answer: 'CSR signing error (dns name "bank.example" is not one of the control plane)',
  },
  {
    name: "a signer that is not known",
    ...{ verdict: as(web), metadata: { CertSigner: "x" }, counts: `${failed}"signer"}`, line: refused },
    answer: "CSR signing error (unknown signer)",
  },
  {
    name: "any request before there is signing material",
    ...{ verdict: as(web), parts: { material: () => undefined }, answer: "CA not ready", line: refused },
    counts: `${failed}"not_ready"}`,
  },
  {
    name: "a request of a full line",
    verdict: as(web),
    parts: { queue: { run: () => Promise.reject(new CaError("CA_BUSY", "full")) } },
    answer: "too many requests of this identity, try again later",
    ...{ counts: `${failed}"busy"}`, line: refused },
  },
  {
    name: "a request that meets a defect",
    ...{ verdict: new TypeError("x is no function"), answer: "internal error", counts: `${failed}"internal"}` },
    line: "error request failed",
  },
];

describe("no certificate is issued for", () => {
  for (const { name, answer, counts, line, ...asked } of refusals)
    it(name, async () => {
      const found = await answered(asked);
      assert.deepEqual([found.answer, found.counted, found.lines], [answer, [counts], [line]]);
    });
});

const issued: readonly (Asked & {
  readonly name: string;
  readonly granted: readonly string[];
  readonly askedBy?: string;
})[] = [
  { name: "a workload has its identity", verdict: as(web), granted: [web] },
  { name: "a workload has no name that it asks for", verdict: as(web), names: ["istiod.mesh.svc"], granted: [web] },
  {
    name: "a service of the control plane has its names too",
    ...{ verdict: as(xds), names: ["istiod.mesh.svc"], granted: [xds, "istiod.mesh.svc"] },
  },
  { name: "a node for itself has its own identity", verdict: ofNode, granted: [node] },
  { name: "a node that names no other has its own", verdict: ofNode, ...impersonate(""), granted: [node] },
  { name: "a node for a pod of it has the pod's", verdict: ofNode, ...impersonate(web), granted: [web], askedBy: node },
];

describe("a certificate of", () => {
  for (const { name, granted, askedBy, ...asked } of issued)
    it(name, async () => {
      const found = await answered(asked);
      assert.deepEqual([found.answer, found.names], ["issued", granted]);
      assert.deepEqual(found.counted, ["success_cert_issuance_count"]);
      assert.deepEqual([found.lines, found.askedBy], [["info certificate issued"], askedBy]);
      assert.deepEqual(found.queued, [
        asked.verdict instanceof Error ? "" : (asked.verdict as { principal: string }).principal,
      ]);
    });

  it("a pod that a node asks for has no name of the control plane", async () => {
    const everywhere = {
      node: {
        clusterId: "c",
        trustedAccounts: ["mesh/ztunnel"],
        trustDomains: () => ["td"],
        pods: { ...pods, runsOn: () => true },
      },
    };
    const found = await answered({
      verdict: ofNode,
      ...impersonate(xds),
      names: ["istiod.mesh.svc"],
      parts: everywhere,
    });
    assert.deepEqual(found.names, [xds]);
  });
});
