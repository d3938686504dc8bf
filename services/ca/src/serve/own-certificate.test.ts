/** The certificate that ca serves with: its names, and when it is made again. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TlsMaterial } from "@flotilla/auth/serving";
import {
  certificatePem,
  generatePrivateKey,
  issueRoot,
  parseCertificatesPem,
  privateKeyPem,
  verifyChain,
} from "@flotilla/pki";
import { createLogger, until } from "@flotilla/runtime";
import { readMaterial } from "../roots/material.ts";
import { OwnCertificate, ownCertificate } from "./own-certificate.ts";

const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 0, 1);
const rootKey = await generatePrivateKey("ecdsa-p256");
const rootTimes = { notBeforeMs: startMs - 1_000 * hourMs, notAfterMs: startMs + 1_000 * hourMs };
const root = issueRoot({ serial: Buffer.alloc(16, 3), subject: { organization: "x" }, ...rootTimes }, rootKey);
const pem = certificatePem(root);
const files = { certificatePem: pem, keyPem: privateKeyPem(rootKey), rootsPem: pem, origin: "self-signed" } as const;
const material = readMaterial(files, [], startMs);
const serving = {
  ...{ namespace: "mesh", domain: "cluster.local", revision: "default", accounts: [], serverAccounts: [] },
  ...{ customHosts: ["ca.example"], trustDomains: () => ["td"] },
};

function issueAt(nowMs: number): Promise<TlsMaterial> {
  const randomSerial = () => Buffer.alloc(16, 5);
  return ownCertificate(material, {
    serving,
    trustDomain: () => "td",
    ttlMs: 24 * hourMs,
    nowMs: () => nowMs,
    randomSerial,
  });
}

it("ca's own certificate has its identity and the names of the control plane, for a time", async () => {
  const { chainPem, rootsPem } = await issueAt(startMs);
  const [leaf, ...intermediates] = parseCertificatesPem(chainPem);
  assert.ok(leaf !== undefined);
  verifyChain({ leaf, intermediates, roots: parseCertificatesPem(rootsPem), nowMs: startMs, usage: "server" });
  const names = leaf.sans.map(({ value }) => value);
  assert.equal(names[0], "spiffe://td/ns/mesh/sa/flotilla-ca");
  for (const name of ["istiod.mesh.svc", "flotilla-ca.mesh.svc.cluster.local", "ca.example"])
    assert.ok(names.includes(name), name);
  assert.equal(leaf.notAfterMs, startMs + 24 * hourMs);
  assert.ok(leaf.notBeforeMs < startMs, "for clients whose clock is behind");
});

/** A certificate that is kept beside a clock of the test's; `looks` counts the looks at it. */
async function keeping(failures: readonly (Error | string)[] = []) {
  const [lines, used]: [string[], TlsMaterial[]] = [[], []];
  const left = [...failures];
  const clock = { nowMs: startMs, looks: 0 };
  const stop = new AbortController();
  const first = await issueAt(startMs);
  const certificate = new OwnCertificate(first, {
    issue: async () => {
      const failure = left.shift();
      if (failure !== undefined) throw failure;
      return issueAt(clock.nowMs);
    },
    use: async (next) => void used.push(next),
    log: createLogger("t", "debug", { write: (line) => void lines.push(line) }),
    nowMs: () => {
      clock.looks++;
      return clock.nowMs;
    },
    lookMs: 1,
  });
  const following = certificate.follow(stop.signal);
  const setClock = async (nowMs: number) => {
    clock.nowMs = nowMs;
    const { looks } = clock;
    await until(() => clock.looks >= looks + 3, { withinMs: 20_000, what: "looks at the clock", everyMs: 1 });
  };
  const renewed = (count: number) =>
    until(() => used.length === count, { withinMs: 20_000, what: `renewal ${count}`, everyMs: 1 });
  const errors = () => lines.filter((line) => line.includes('"error"')).length;
  const end = async () => {
    stop.abort();
    await following;
  };
  return { certificate, used, setClock, renewed, errors, [Symbol.asyncDispose]: end };
}

describe("ca's own certificate is made again", () => {
  it("in the middle of its life, and no sooner", async () => {
    await using one = await keeping();
    await one.setClock(startMs + 12 * hourMs - 1);
    assert.equal(one.used.length, 0);
    await one.setClock(startMs + 12 * hourMs);
    await one.renewed(1);
    await one.setClock(startMs + 24 * hourMs - 1);
    assert.equal(one.used.length, 1, "the new one has a life of its own");
    await one.setClock(startMs + 24 * hourMs);
    await one.renewed(2);
  });

  it("when the clock was set to a time before it, and not after it was made", async () => {
    await using one = await keeping();
    await one.setClock(startMs - 100 * hourMs);
    await one.renewed(1);
    await one.setClock(startMs - 99 * hourMs);
    assert.equal(one.used.length, 1);
  });

  it("at once for other signing material", async () => {
    await using one = await keeping();
    await one.certificate.renew();
    assert.equal(one.used.length, 1);
  });

  it("again after it could not be, with one line for each reason", async () => {
    await using one = await keeping([new Error("no key"), new Error("no key"), "away"]);
    await one.certificate.renew();
    await one.renewed(1);
    assert.equal(one.errors(), 2);
    await one.setClock(startMs + 1);
    assert.equal(one.used.length, 1, "the failure is over");
  });
});
