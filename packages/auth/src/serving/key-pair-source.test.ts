import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  certificatePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  parseCertificatePem,
  parseCsrPem,
  privateKeyPem,
  type San,
} from "@flotilla/pki";
import { noopLogger, until } from "@flotilla/runtime";
import { AuthError } from "../errors.ts";
import { followKeyPair, type KeyPair, type KeyPairSource, keyPairSourceOf } from "./key-pair-source.ts";

const key = await generatePrivateKey("ecdsa-p256");
const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
const root = issueRoot({ serial: Buffer.of(1), subject: { organization: "signer" }, ...times }, key);
const name: San = { type: "dns", value: "istiod.istio-system.svc" };
const parts = { names: [name.value], pollMs: 10, sign: undefined };
const settings = { certProvider: "istiod", tlsCertFile: undefined, tlsKeyFile: undefined };

interface Signing {
  readonly sans?: readonly San[];
  readonly notBeforeMs?: number;
  readonly notAfterMs?: number;
  readonly otherKey?: boolean;
}

function signed(csr: string, { sans = [name], otherKey = false, ...life }: Signing = {}): string {
  const spki = otherKey ? root.spki : parseCsrPem(csr).spki;
  const leaf = { serial: Buffer.of(2), spki, sans, ...times, ...life };
  return certificatePem(parseCertificateDer(issueLeaf(leaf, issuerOf(root, key))));
}

function parseCertificateDer(der: Buffer) {
  return parseCertificatePem(`-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`);
}

/** Until `count` pairs or troubles were reported. */
async function take(source: KeyPairSource, isEnough: (pairs: number, troubles: number) => boolean) {
  const stop = new AbortController();
  const pairs: KeyPair[] = [];
  const troubles: string[] = [];
  const following = followKeyPair(
    source,
    {
      log: noopLogger,
      onKeyPair: (pair) => void pairs.push(pair),
      onTrouble: (reason) => void (reason === undefined ? 0 : troubles.push(reason)),
    },
    stop.signal,
  );
  await until(() => isEnough(pairs.length, troubles.length), { withinMs: 30_000, what: "the pairs", everyMs: 5 });
  stop.abort();
  await following;
  return { pairs, troubles };
}

describe("issuers of serving certificates", () => {
  it("ca, unless files or a signer are named; files come first", () => {
    const sign = () => Promise.resolve("");
    const files = { ...settings, tlsCertFile: "c", tlsKeyFile: "k" };
    assert.equal(keyPairSourceOf(settings, parts), undefined);
    assert.equal(keyPairSourceOf({ ...settings, certProvider: "" }, parts), undefined);
    for (const one of ["tlsCertFile", "tlsKeyFile"])
      assert.equal(keyPairSourceOf({ ...settings, [one]: "f" }, parts), undefined, `${one} alone`);
    assert.equal(keyPairSourceOf({ ...files, certProvider: "k8s.io/a.b/c" }, { ...parts, sign })?.type, "files");
    assert.equal(keyPairSourceOf({ ...settings, certProvider: "k8s.io/a.b/c" }, { ...parts, sign })?.type, "signer");
  });

  const refused = [
    ["custom", /neither istiod nor k8s\.io/],
    ["k8s.io/", /neither istiod nor k8s\.io/],
    ["k8s.io/name-without-domain", /neither istiod nor k8s\.io/],
    ["k8s.io/a.b/c", /no cluster to ask the signer a\.b\/c in/],
  ] as const;
  for (const [certProvider, reason] of refused)
    it(`${certProvider} is refused`, () =>
      assert.throws(() => keyPairSourceOf({ ...settings, certProvider }, parts), reason));
});

describe("a serving certificate from a signer", () => {
  const from = (sign: (csr: string) => Promise<string>): KeyPairSource => {
    const source = { ...settings, certProvider: "k8s.io/a.b/c" };
    const made = keyPairSourceOf(source, { ...parts, sign: ({ csrPem }) => sign(csrPem) });
    assert.ok(made?.type === "signer");
    return { ...made, random: () => 0 };
  };

  it("has our names and a new key each time, and is renewed in the middle of its life", async () => {
    const source = from((csr) => Promise.resolve(signed(csr, { notAfterMs: Date.now() + 1500 })));
    const { pairs } = await take(source, (count) => count >= 2);
    const [first, second] = pairs.map(({ chainPem }) => parseCertificatePem(chainPem));
    assert.deepEqual(first?.sans, [name]);
    assert.notDeepEqual(first?.spki, second?.spki);
  });

  /** A signer whose certificates are valid for a second, and a clock that the test sets. */
  async function ofASecond(startMs: (notBeforeMs: number) => number) {
    const notBeforeMs = Math.floor(Date.now() / 1_000) * 1_000;
    const life = { notBeforeMs, notAfterMs: notBeforeMs + 1_000 };
    let [clockMs, reads, signatures] = [startMs(notBeforeMs), 0, 0];
    const nowMs = (): number => {
      reads++;
      return clockMs;
    };
    const source = from((csr) => {
      signatures++;
      return Promise.resolve(signed(csr, life));
    });
    assert.ok(source.type === "signer");
    const [stop, troubles]: [AbortController, (string | undefined)[]] = [new AbortController(), []];
    const onTrouble = (reason: string | undefined): void => void troubles.push(reason);
    const options = { log: noopLogger, onKeyPair: () => undefined, onTrouble };
    const following = followKeyPair({ ...source, nowMs }, options, stop.signal);
    const soon = (what: string, isSo: () => boolean) => until(isSo, { withinMs: 30_000, what, everyMs: 1 });
    return {
      ...{ life, troubles, soon, signatures: () => signatures },
      set: (ms: number): void => {
        clockMs = ms;
      },
      /** The clock is read in each look at the certificate. */
      looked: async (): Promise<void> => {
        const before = reads;
        await soon("some looks", () => reads > before + 10);
      },
      [Symbol.asyncDispose]: async () => {
        stop.abort();
        await following;
      },
    };
  }

  it("is renewed after 45 % of what is left of its life, by the clock", async () => {
    await using it = await ofASecond((notBeforeMs) => notBeforeMs + 900);
    await it.soon("the first", () => it.signatures() === 1);
    await it.looked();
    it.set(it.life.notBeforeMs + 944);
    await it.looked();
    assert.equal(it.signatures(), 1);
    it.set(it.life.notBeforeMs + 945);
    await it.soon("the next", () => it.signatures() === 2);
  });

  it("is asked for again when the clock is set back to before it", async () => {
    await using it = await ofASecond((notBeforeMs) => notBeforeMs);
    await it.soon("the first", () => it.troubles.length === 1);
    await new Promise(setImmediate);
    assert.equal(it.signatures(), 1);
    it.set(it.life.notBeforeMs - 1);
    await it.soon("the refusal", () => it.troubles.length === 2);
    assert.match(it.troubles[1] ?? "", /is not valid yet/);
  });

  it("is not used in the moment in which it ends", async () => {
    await using it = await ofASecond((notBeforeMs) => notBeforeMs + 1_000);
    await it.soon("the refusal", () => it.troubles.length === 1);
    assert.match(it.troubles[0] ?? "", /is over already/);
  });

  const bad: readonly (readonly [string, (csr: string) => Promise<string>, RegExp])[] = [
    ["another key", (csr) => Promise.resolve(signed(csr, { otherKey: true })), /is not for our key/],
    ["no names", (csr) => Promise.resolve(signed(csr, { sans: [] })), /lacks the name istiod/],
    ["an end in the past", (csr) => Promise.resolve(signed(csr, { notAfterMs: Date.now() - 1000 })), /is over already/],
    ["no certificate", () => Promise.resolve("hello"), /cannot be read/],
    ["a refusal", () => Promise.reject(new AuthError("AUTH_SIGNER_FAILED", "Denied")), /Denied/],
  ];
  for (const [what, sign, reason] of bad)
    it(`${what} is not used, and reported`, async () => {
      const { pairs, troubles } = await take(from(sign), (_, reported) => reported > 0);
      assert.deepEqual(pairs, []);
      assert.match(troubles[0] ?? "", reason);
    });
});

describe("a serving certificate from files", () => {
  it("is read again when it changes; a pair that does not fit is reported and not used", async () => {
    const directory = await mkdtemp(join(tmpdir(), "key-pair-"));
    const [certFile, keyFile] = [join(directory, "tls.crt"), join(directory, "tls.key")];
    const stop = new AbortController();
    // A file that is read while it is written may bring the same pair again.
    const keys = new Set<string>();
    let trouble: string | undefined;
    const onTrouble = (reason: string | undefined): void => {
      trouble = reason;
    };
    const following = followKeyPair(
      { type: "files", certFile, keyFile, pollMs: 5 },
      { log: noopLogger, onKeyPair: ({ keyPem }) => void keys.add(keyPem), onTrouble },
      stop.signal,
    );
    const soon = (what: string, isSo: () => boolean) => until(isSo, { withinMs: 30_000, what, everyMs: 5 });
    await soon("the missing files", () => /ENOENT/.test(trouble ?? ""));
    await writeFile(certFile, certificatePem(root));
    await writeFile(keyFile, privateKeyPem(key));
    await soon("the pair", () => keys.size === 1 && trouble === undefined);
    await writeFile(keyFile, privateKeyPem(await generatePrivateKey("ecdsa-p256")));
    await soon("the mismatch", () => trouble !== undefined);
    assert.deepEqual(keys, new Set([privateKeyPem(key)]));
    stop.abort();
    await following;
    await rm(directory, { recursive: true });
  });
});
