/**
 * Requests that a hostile or broken client might send. Two thirds are built anew from odd parts and signed correctly by the
 * key in them, the others are good ones with bytes changed. MUTATED_REQUESTS sets their number, MUTATION_SEED the start.
 */
import assert from "node:assert/strict";
import { type KeyObject, sign } from "node:crypto";
import { describe, it } from "node:test";
import {
  certificatePem,
  csrPem,
  encodeSans,
  generatePrivateKey,
  issueRoot,
  parseCertificatePem,
  privateKeyPem,
  type San,
  spkiOf,
  verifyChain,
} from "@flotilla/pki";
import { CaError } from "../errors.ts";
import { readMaterial } from "../roots/material.ts";
import { issueWorkload } from "./issue-workload.ts";

const count = Number(process.env["MUTATED_REQUESTS"] ?? 12_000);
const seed = Number(process.env["MUTATION_SEED"] ?? 1);
const nowMs = 1_700_000_000_000;
const hourMs = 3_600_000;
const identity = "spiffe://cluster.local/ns/shop/sa/reviews";
const keys = await Promise.all((["ecdsa-p256", "ecdsa-p384", "rsa-2048"] as const).map(generatePrivateKey));
const spkis = keys.map(spkiOf);

/** mulberry32: small, and the same everywhere. */
function randomOf(start: number): (below: number) => number {
  let state = start;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** A writer of its own: the one under test must not judge itself. */
function tlv(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const { length: size } = body;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.of(tag, ...length), body]);
}
const hex = (text: string): Buffer => Buffer.from(text, "hex");
const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, ...parts);

const names: readonly San[] = [
  { type: "uri", value: "spiffe://cluster.local/ns/kube-system/sa/admin" },
  { type: "uri", value: identity },
  { type: "uri", value: "spiffe://other/x" },
  { type: "dns", value: "istiod.istio-system.svc" },
  { type: "dns", value: "*.test" },
  { type: "ip", value: "127.0.0.1" },
  { type: "ip", value: "::1" },
  { type: "email", value: "root@test" },
];
const extensions: readonly Buffer[] = [
  sequence(hex("0603551d13"), hex("0101ff"), hex("040530030101ff")), // a CA, please
  sequence(hex("0603551d0f"), hex("0101ff"), hex("040403020186")), // that signs
  sequence(hex("0603551d25"), hex("040a300806062b0601050507")),
  sequence(hex("06032a0304"), hex("0101ff"), hex("04020500")), // unknown and critical
  sequence(hex("06032a0305"), hex("0400")),
];
const hashes = [
  { hash: "sha256", rsa: "06092a864886f70d01010b0500", ec: "06082a8648ce3d040302" },
  { hash: "sha384", rsa: "06092a864886f70d01010c0500", ec: "06082a8648ce3d040303" },
  { hash: "sha512", rsa: "06092a864886f70d01010d0500", ec: "06082a8648ce3d040304" },
];

type Random = (below: number) => number;
const pick = <T>(from: readonly T[], random: Random): T => from[random(from.length)] as T;

function subjectOf(random: Random): Buffer {
  const parts = Array.from({ length: random(4) }, () => {
    const value = tlv(pick([0x0c, 0x13, 0x16, 0x1e, 0x14], random), Buffer.alloc(2 * random(20), 65 + random(60)));
    return tlv(0x31, sequence(pick([hex("0603550403"), hex("060355040a"), hex("06032a0306")], random), value));
  });
  return sequence(...parts);
}

function attributesOf(random: Random): Buffer {
  const sans = Array.from({ length: 1 + random(6) }, () => pick(names, random));
  const san = sequence(hex("0603551d11"), ...(random(2) ? [hex("0101ff")] : []), tlv(0x04, encodeSans(sans)));
  const first = random(extensions.length + 1);
  const requests = [san, ...extensions.slice(first, first + random(3))];
  const parts = [
    sequence(hex("06092a864886f70d01090e"), tlv(0x31, sequence(...(random(8) ? requests : requests.slice(1))))),
  ];
  if (random(4) === 0)
    parts.push(sequence(hex("06092a864886f70d010907"), tlv(0x31, tlv(0x0c, Buffer.from("challenge")))));
  if (random(10) === 0) parts.reverse();
  return tlv(0xa0, ...(random(10) === 0 ? [] : parts));
}

function signedRequest(random: Random): Buffer {
  // P-256 costs a tenth of the others: a few of those are enough.
  const at = random(10) === 0 ? 1 + random(2) : 0;
  const key = keys[at] as KeyObject;
  const info = sequence(hex("020100"), subjectOf(random), spkis[at] as Buffer, attributesOf(random));
  const algorithm = pick(hashes, random);
  const signature = sign(algorithm.hash, info, key);
  return sequence(info, sequence(hex(at === 2 ? algorithm.rsa : algorithm.ec)), tlv(0x03, Buffer.of(0), signature));
}

function damaged(good: Buffer, random: Random): Buffer {
  const at = random(good.length);
  switch (random(5)) {
    case 0:
      return good.subarray(0, at);
    case 1:
      return Buffer.concat([good.subarray(0, at), good.subarray(Math.min(good.length, at + 1 + random(8)))]);
    case 2:
      return Buffer.concat([good.subarray(0, at), Buffer.alloc(1 + random(8), random(256)), good.subarray(at)]);
    case 3:
      return Buffer.concat([good.subarray(0, at), good.subarray(random(good.length)), good.subarray(at)]);
    default: {
      const copy = Buffer.from(good);
      for (let i = 0; i <= random(4); i++) copy[random(copy.length)] = random(256);
      return copy;
    }
  }
}

describe(`${count} mutated requests, seed ${seed}`, () => {
  const caKey = keys[0] as KeyObject;
  const root = issueRoot(
    { serial: hex("01"), subject: { organization: "x" }, notBeforeMs: 0, notAfterMs: nowMs + 99 * hourMs },
    caKey,
  );
  const pem = certificatePem(root);
  const material = readMaterial(
    { certificatePem: pem, keyPem: privateKeyPem(caKey), rootsPem: pem, origin: "self-signed" },
    [],
    nowMs,
  );

  it("never a crash, never a certificate for anything but the caller's identity and a key that signed", () => {
    const random = randomOf(seed);
    const tally = { signed: 0, issued: 0, damaged: 0 };
    for (let i = 0; i < count; i++) {
      const isSigned = i % 3 !== 0;
      const good = signedRequest(random);
      const der = isSigned ? good : damaged(good, random);
      if (isSigned) tally.signed++;
      else if (!der.equals(good)) tally.damaged++;
      const what = `request ${i}: ${der.toString("hex")}`;
      try {
        const request = { csrPem: csrPem(der), identity, namesFor: () => [], ttlMs: hourMs, nowMs, serial: hex("02") };
        const leaf = parseCertificatePem(issueWorkload(request, material).chain[0] ?? "");
        assert.deepEqual(leaf.sans, [{ type: "uri", value: identity }], what);
        assert.deepEqual([leaf.basicConstraints, leaf.subject], [{ isCa: false }, {}], what);
        assert.deepEqual(leaf.keyUsage, ["digitalSignature", "keyEncipherment"], what);
        assert.deepEqual(
          leaf.extensions.map(({ id }) => id).sort(),
          ["2.5.29.15", "2.5.29.17", "2.5.29.19", "2.5.29.35", "2.5.29.37"],
          what,
        );
        assert.ok(
          spkis.some((spki) => spki.equals(leaf.spki)),
          what,
        );
        assert.ok(isSigned || der.equals(good), `damaged, and yet: ${what}`);
        if (tally.issued++ % 100 === 0) verifyChain({ leaf, intermediates: [], roots: [root], nowMs });
      } catch (error) {
        if (!(error instanceof CaError)) throw new Error(what, { cause: error });
        assert.equal(error.code, "CA_BAD_CSR", what);
      }
    }
    assert.ok(tally.signed >= count / 2 && tally.damaged > count / 4, JSON.stringify(tally));
    // Some that are signed are refused all the same: a name twice, a request that is malformed.
    assert.ok(tally.issued > count / 2, JSON.stringify(tally));
  });
});
