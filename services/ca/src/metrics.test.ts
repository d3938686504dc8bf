/** Metrics of ca: when certificates end, and series that are there from the start. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { certificatePem, generatePrivateKey, issueRoot, privateKeyPem } from "@flotilla/pki";
import { createMetrics } from "@flotilla/runtime";
import { declareMetrics } from "./metrics.ts";
import { readMaterial, type SigningMaterial } from "./roots/material.ts";

const nowMs = Date.UTC(2026, 0, 1);
const dayMs = 86_400_000;

async function materialUntil(...ends: readonly number[]): Promise<SigningMaterial> {
  const roots = await Promise.all(
    ends.map(async (notAfterMs, index) => {
      const key = await generatePrivateKey("ecdsa-p256");
      const subject = { commonName: `root ${index}` };
      const root = issueRoot({ serial: Buffer.alloc(16, index + 1), subject, notBeforeMs: nowMs - 1, notAfterMs }, key);
      return { key, pem: certificatePem(root) };
    }),
  );
  const [first] = roots;
  if (first === undefined) throw new RangeError("no root");
  const rootsPem = roots.map(({ pem }) => pem).join("");
  const files = { certificatePem: first.pem, keyPem: privateKeyPem(first.key), rootsPem };
  return readMaterial({ ...files, origin: "plugged-in" }, [], nowMs);
}

async function textOf(material: SigningMaterial | undefined): Promise<string> {
  const metrics = createMetrics();
  declareMetrics(metrics, { material: () => material, waiting: () => 3, nowMs: () => nowMs });
  return metrics.text();
}

describe("metrics of ca", () => {
  it("say when the first root and the first certificate of the chain end", async () => {
    const text = await textOf(await materialUntil(nowMs + 9 * dayMs, nowMs + 2 * dayMs));
    const at = (nowMs + 2 * dayMs) / 1000;
    for (const name of ["citadel_server_root_cert_expiry", "citadel_server_cert_chain_expiry"]) {
      assert.match(text, new RegExp(`^${name}_timestamp ${at}$`, "m"));
      assert.match(text, new RegExp(`^${name}_seconds ${2 * 86_400}$`, "m"));
    }
  });

  it("are 0 while there is no signing material", async () => {
    assert.deepEqual((await textOf(undefined)).match(/^citadel_server_\w+_expiry_\w+ 0$/gm)?.length, 4);
  });

  it("count refusals from nothing, and requests that wait", async () => {
    const text = await textOf(undefined);
    for (const error of ["csr", "ttl", "signer", "name", "not_ready", "busy", "internal"])
      assert.match(text, new RegExp(`^citadel_server_csr_sign_err_count(?:_total)?\\{error="${error}"\\} 0$`, "m"));
    assert.match(text, /^ca_waiting_requests 3$/m);
  });
});
