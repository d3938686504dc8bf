/**
 * Requests for certificates that are made to cost much or to slip through: keys and exponents of absurd sizes, curves written out in numbers, weak
 * signatures, thousands of names. Each has one answer, and one identity at most: the caller's own.
 */
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { buildCsr, csrPem, encodePem, generatePrivateKey, spkiOf } from "@flotilla/pki";
import { status } from "@grpc/grpc-js";
import { type RunningCa, startCa } from "./main.fixture.ts";
import { askAs } from "./raw-request.fixture.ts";

const identity = "spiffe://cluster.local/ns/shop/sa/web";
const ec = await generatePrivateKey("ecdsa-p256");
const rsa = await generatePrivateKey("rsa-2048");
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

/** A writer of its own: the one under test must not judge itself. */
function tlv(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const bytes = body.length.toString(16);
  const size = hex(bytes.length % 2 === 0 ? bytes : `0${bytes}`);
  return Buffer.concat([
    Buffer.of(tag),
    body.length < 128 ? Buffer.of(body.length) : Buffer.of(0x80 | size.length),
    body.length < 128 ? Buffer.of() : size,
    body,
  ]);
}
const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, ...parts);
const oids = {
  rsaSha256: "06092a864886f70d01010b0500",
  rsaSha1: "06092a864886f70d0101050500",
  rsaMd5: "06092a864886f70d0101040500",
  ecSha256: "06082a8648ce3d040302",
  ecSha1: "06072a8648ce3d0401",
};

interface Parts {
  readonly spki: Buffer;
  readonly algorithm: keyof typeof oids;
  /** Signs with the key that the request names; without it the signature is noise. */
  readonly key?: KeyObject;
  readonly hash?: string;
  readonly attributes?: Buffer;
}

function request({ spki, algorithm, key, hash = "sha256", attributes = tlv(0xa0) }: Parts): string {
  const info = sequence(hex("020100"), sequence(), spki, attributes);
  const signature = key === undefined ? Buffer.alloc(256, 7) : sign(hash, info, key);
  const der = sequence(info, sequence(hex(oids[algorithm])), tlv(0x03, Buffer.of(0), signature));
  return encodePem("CERTIFICATE REQUEST", der);
}

/** An RSA key of any size: its private half is not needed to send it. */
function rsaSpki(bits: number, exponent: Buffer): Buffer {
  const modulus = Buffer.alloc(bits / 8, 0xa5);
  const n = modulus.toString("base64url");
  const key = { kty: "RSA", n, e: exponent.toString("base64url") };
  return createPublicKey({ key, format: "jwk" }).export({ type: "spki", format: "der" });
}
const e65537 = Buffer.of(1, 0, 1);

/** P-256 with its numbers in place of its name, the form of CVE-2020-0601 and of CVE-2022-0778. */
function explicitCurve(): Buffer {
  const prime = "00ffffffff00000001000000000000000000000000ffffffffffffffffffffffff";
  const field = sequence(hex("06072a8648ce3d0101"), tlv(0x02, hex(prime)));
  const curve = sequence(tlv(0x04, Buffer.alloc(32, 1)), tlv(0x04, Buffer.alloc(32, 2)));
  const parameters = sequence(
    hex("020101"),
    field,
    curve,
    tlv(0x04, Buffer.alloc(65, 4)),
    tlv(0x02, hex(prime)),
    hex("020101"),
  );
  return sequence(sequence(hex("06072a8648ce3d0201"), parameters), tlv(0x03, Buffer.of(0), Buffer.alloc(65, 4)));
}

function nested(levels: number): Buffer {
  let value: Buffer = Buffer.alloc(0);
  for (let level = 0; level < levels; level++) value = sequence(value);
  return tlv(0xa0, value);
}
const ed25519 = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "der" });
const x25519 = generateKeyPairSync("x25519").publicKey.export({ type: "spki", format: "der" });

const refused: readonly (readonly [string, () => string])[] = [
  ["an RSA key of 16,384 bits", () => request({ spki: rsaSpki(16_384, e65537), algorithm: "rsaSha256" })],
  ["an RSA key of 65,536 bits", () => request({ spki: rsaSpki(65_536, e65537), algorithm: "rsaSha256" })],
  [
    "an exponent of 2,040 bits",
    () => request({ spki: rsaSpki(2_048, Buffer.alloc(255, 0xff)), algorithm: "rsaSha256" }),
  ],
  ["an exponent of 1", () => request({ spki: rsaSpki(2_048, Buffer.of(1)), algorithm: "rsaSha256" })],
  [
    "an RSA key of 8,192 bits with the largest exponent, and noise",
    () => request({ spki: rsaSpki(8_192, Buffer.alloc(4, 0xff)), algorithm: "rsaSha256" }),
  ],
  ["a signature by SHA-1", () => request({ spki: spkiOf(rsa), algorithm: "rsaSha1", key: rsa, hash: "sha1" })],
  ["a signature by MD5", () => request({ spki: spkiOf(rsa), algorithm: "rsaMd5", key: rsa, hash: "md5" })],
  ["a signature by SHA-1 of a curve", () => request({ spki: spkiOf(ec), algorithm: "ecSha1", key: ec, hash: "sha1" })],
  ["a signature of another kind than its key", () => request({ spki: spkiOf(ec), algorithm: "rsaSha256", key: rsa })],
  ["a curve written out in numbers", () => request({ spki: explicitCurve(), algorithm: "ecSha256" })],
  ["a key of X25519, which signs nothing", () => request({ spki: x25519, algorithm: "ecSha256" })],
  ["a key of Ed25519 and a signature of ECDSA", () => request({ spki: ed25519, algorithm: "ecSha256", key: ec })],
  [
    "attributes of 5,000 levels",
    () => request({ spki: spkiOf(ec), algorithm: "ecSha256", key: ec, attributes: nested(5_000) }),
  ],
];

describe("hostile requests for certificates", () => {
  let ca: RunningCa;
  let most = { name: "", ms: 0 };
  const token = () => ca.mint("shop", "web");
  const honest = async () => askAs(ca, { token: await token() });
  /** Processor time of this thread, which client and ca share. */
  const measured = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const before = process.threadCpuUsage();
    const result = await work();
    const { user, system } = process.threadCpuUsage(before);
    const ms = (user + system) / 1_000;
    if (ms > most.ms) most = { name, ms };
    return result;
  };

  before(async () => {
    ca = await startCa();
    await honest();
  });
  after(async () => {
    console.log(`      the most costly request took ${Math.round(most.ms)} ms of a processor: ${most.name}`);
    await ca[Symbol.asyncDispose]();
  });

  for (const [name, make] of refused)
    it(`${name}: INVALID_ARGUMENT`, async () => {
      const [csr, given] = [make(), await token()];
      const { code, chain } = await measured(name, () => askAs(ca, { token: given, csr }));
      assert.deepEqual([code, chain], [status.INVALID_ARGUMENT, []]);
    });

  it("an ordinary one that is written like the others gets its certificate", async () => {
    const csr = request({ spki: spkiOf(ec), algorithm: "ecSha256", key: ec });
    assert.deepEqual((await askAs(ca, { token: await token(), csr })).sans, [identity]);
  });

  it("with hundreds of names of others are answered with the caller's own, or not at all", async () => {
    for (const [count, expected] of [
      [200, { code: status.OK, sans: [identity] }],
      // Larger than requests may be.
      [300, { code: status.INVALID_ARGUMENT, sans: [] }],
    ] as const) {
      const sans = Array.from(
        { length: count },
        (_, i) => ({ type: "uri", value: `spiffe://cluster.local/ns/kube-system/sa/admin-${i}` }) as const,
      );
      const [csr, given] = [csrPem(buildCsr({ key: ec, sans })), await token()];
      const { code, sans: granted } = await measured(`${count} names`, () => askAs(ca, { token: given, csr }));
      assert.deepEqual({ code, sans: granted }, expected);
    }
  });

  it("all at once, ten times each, leave an honest caller its certificate", async () => {
    const given = await token();
    const requests = refused.flatMap(([, make]) => Array.from({ length: 10 }, make));
    const flood = requests.map((csr) => askAs(ca, { token: given, csr }));
    assert.deepEqual((await honest()).sans, [identity]);
    const codes = new Set((await Promise.all(flood)).map(({ code }) => code));
    for (const code of codes)
      assert.ok(code === status.INVALID_ARGUMENT || code === status.RESOURCE_EXHAUSTED, status[code]);
    assert.equal((await honest()).code, status.OK);
  });
});
