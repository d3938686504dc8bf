/**
 * Certificates per second in the signing path, on one core: the CSR is parsed, its signature checked, the certificate signed.
 * One JSON line for each kind of signing key and CSR. `node services/ca/bench/sign.ts [seconds]`.
 */
import { randomBytes } from "node:crypto";
import {
  buildCsr,
  certificatePem,
  csrPem,
  generatePrivateKey,
  issueRoot,
  type KeyAlgorithm,
  privateKeyPem,
} from "@flotilla/pki";
import { readMaterial, type SigningMaterial } from "../src/roots/material.ts";
import { issueWorkload, serialSource } from "../src/sign/issue-workload.ts";

const serial = serialSource();
const seconds = Number(process.argv[2] ?? 2);
const hourMs = 3_600_000;
const identity = "spiffe://cluster.local/ns/shop/sa/reviews";

async function materialOf(algorithm: KeyAlgorithm): Promise<SigningMaterial> {
  const key = await generatePrivateKey(algorithm);
  const times = { notBeforeMs: Date.now() - hourMs, notAfterMs: Date.now() + 1000 * hourMs };
  const pem = certificatePem(issueRoot({ serial: randomBytes(16), subject: { organization: "bench" }, ...times }, key));
  const files = { certificatePem: pem, keyPem: privateKeyPem(key), rootsPem: pem, origin: "self-signed" } as const;
  return readMaterial(files, [], Date.now());
}

for (const ca of ["rsa-2048", "ecdsa-p256"] as const) {
  const material = await materialOf(ca);
  for (const csr of ["rsa-2048", "ecdsa-p256"] as const) {
    const csrText = csrPem(buildCsr({ key: await generatePrivateKey(csr) }));
    const issue = (): unknown =>
      issueWorkload(
        { csrPem: csrText, identity, namesFor: () => [], ttlMs: hourMs, nowMs: Date.now(), serial: serial() },
        material,
      );
    for (let i = 0; i < 5000; i++) issue(); // steady state: compiled, and with a grown heap
    let count = 0;
    const before = process.cpuUsage();
    const until = performance.now() + seconds * 1000;
    while (performance.now() < until) {
      issue();
      count++;
    }
    const { user, system } = process.cpuUsage(before);
    const perSecond = Math.round(count / ((user + system) / 1e6));
    process.stdout.write(`${JSON.stringify({ bench: "ca-sign", ca, csr, certificatesPerCpuSecond: perSecond })}\n`);
  }
}
