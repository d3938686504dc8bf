import assert from "node:assert/strict";
import { type KeyObject, sign } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  type Certificate,
  certificatePem,
  encodePem,
  generatePrivateKey,
  isRevoked,
  issueCa,
  issueRoot,
  issuerOf,
  parseCertificate,
  parseCertificatePem,
  privateKeyPem,
  rootId,
  type San,
  spkiOf,
} from "@flotilla/pki";
import { bitString, integer, oid, sequence, smallInteger, time } from "@flotilla/pki/der";
import { noopLogger, until } from "@flotilla/runtime";
import { readMaterial } from "./material.ts";
import { type MaterialOptions, MaterialSource } from "./material-source.ts";
import { isRenewalDue, openSelfSigned, renewSelfSigned } from "./self-signed.ts";
import { diskStore } from "./self-signed-store.ts";

const nowMs = Date.now();
const hourMs = 3_600_000;
const serial = Buffer.alloc(16, 5);
const times = { notBeforeMs: nowMs - hourMs, notAfterMs: nowMs + 1000 * hourMs };
const [rootKey, caKey, otherKey] = (await Promise.all([1, 2, 3].map(() => generatePrivateKey("ecdsa-p256")))) as [
  KeyObject,
  KeyObject,
  KeyObject,
];
const root = issueRoot({ serial, ...times, subject: { organization: "root" } }, rootKey);
const otherRoot = issueRoot({ serial, ...times, subject: { organization: "other" } }, otherKey);
const uri = (value: string): readonly San[] => [{ type: "uri", value }];

function intermediate(more: object = {}, below: Certificate = root, signer = rootKey): Certificate {
  const request = { serial, ...times, subject: { organization: "ca" }, spki: spkiOf(caKey), ...more };
  return parseCertificate(issueCa(request, issuerOf(below, signer)));
}
/** A list of one serial. */
function crl(issuer: Certificate, key: KeyObject, serial: string): string {
  const algorithm = sequence(oid("1.2.840.10045.4.3.2"));
  const entry = sequence(integer(Buffer.from(serial, "hex")), time(nowMs));
  const tbs = sequence(smallInteger(1), algorithm, issuer.subjectDer, time(nowMs), sequence(entry));
  return encodePem("X509 CRL", sequence(tbs, algorithm, bitString(sign("sha256", tbs, key))));
}
/** Of the name of `middle`, with another key. */
const namesake = intermediate({ spki: spkiOf(otherKey) });
const pem = (...certificates: readonly Certificate[]): string => certificates.map(certificatePem).join("");
const middle = intermediate();
const good = {
  certificatePem: pem(middle),
  keyPem: privateKeyPem(caKey),
  rootsPem: pem(root),
  origin: "plugged-in",
} as const;

describe("signing material", () => {
  const chains: readonly (readonly [string, object, readonly string[]])[] = [
    ["no chain file: the signing certificate leads to the root", {}, [pem(middle)]],
    ["a chain file goes out as it is", { chainPem: pem(middle, root) }, [pem(middle), pem(root)]],
    ["a chain file without the signing certificate gets it", { chainPem: pem(root) }, [pem(middle), pem(root)]],
    [
      "a chain file with a namesake gets it too",
      { chainPem: pem(namesake, root) },
      [pem(middle), pem(namesake), pem(root)],
    ],
    ["tls.crt with its chain", { certificatePem: pem(middle, root) }, [pem(middle), pem(root)]],
    ["a root signs by itself", { certificatePem: pem(root), keyPem: privateKeyPem(rootKey) }, []],
  ];
  for (const [name, more, chain] of chains) {
    it(name, () => assert.deepEqual(readMaterial({ ...good, ...more }, ["cluster.local"], nowMs).chain, chain));
  }

  const refused: readonly (readonly [string, object, RegExp])[] = [
    ["a key of another certificate", { keyPem: privateKeyPem(otherKey) }, /key does not belong/],
    ["a key that cannot be read", { keyPem: "x" }, /PKI_BAD_PEM/],
    ["a certificate that cannot be read", { certificatePem: "x" }, /PKI_BAD_PEM/],
    [
      "roots that cannot be read",
      { rootsPem: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----" },
      /PKI_BAD_CERTIFICATE/,
    ],
    ["a root that did not sign it", { rootsPem: pem(otherRoot) }, /no trusted root/],
    ["an expired one", { certificatePem: pem(intermediate({ notAfterMs: nowMs - 1000 })) }, /expired/],
    [
      "one that is not valid yet",
      { certificatePem: pem(intermediate({ notBeforeMs: nowMs + hourMs })) },
      /not valid before/,
    ],
    ["one that may not sign", { certificatePem: pem(intermediate({ keyUsages: ["cRLSign"] })) }, /key usage/],
    [
      "one of another trust domain",
      { certificatePem: pem(intermediate({ sans: uri("spiffe://other.test") })) },
      /trust domain other\.test/,
    ],
  ];
  for (const [name, more, reason] of refused) {
    it(`refuses ${name}`, () =>
      assert.throws(() => readMaterial({ ...good, ...more }, ["cluster.local"], nowMs), reason));
  }

  it("takes revocation lists of its CAs, and refuses a CA that they take back", () => {
    const take = (crlPem: string) => readMaterial({ ...good, crlPem }, ["cluster.local"], nowMs);
    const isOurs = take(crl(root, rootKey, "aa"));
    assert.equal(isRevoked({ serial: "aa", issuerDer: root.subjectDer }, isOurs.crls), true);
    assert.throws(() => take(crl(root, rootKey, middle.serial)), /is revoked/);
    assert.throws(() => take(crl(otherRoot, otherKey, "aa")), /signed by none of the CAs/);
    assert.throws(() => take("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----"), /PKI_BAD_CRL/);
  });

  it("takes one of its own trust domain", () =>
    assert.ok(
      readMaterial(
        { ...good, certificatePem: pem(intermediate({ sans: uri("spiffe://cluster.local") })) },
        ["cluster.local"],
        nowMs,
      ),
    ));
});

describe("material on disk", () => {
  let directory = "";
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "ca-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const rootOptions = { keyType: "ecdsa-p256", ttlMs: 100 * hourMs, trustDomain: "td" } as const;
  const selfSigned = () => ({ ...rootOptions, directory: join(directory, "self") }) as const;

  function source(more: Partial<MaterialOptions> = {}) {
    const problems: (string | undefined)[] = [];
    const made = new MaterialSource({
      rootCaDir: join(directory, "cacerts"),
      selfSigned: rootOptions,
      store: diskStore(join(directory, "self")),
      mayRenew: () => true,
      isExpected: () => false,
      trustDomains: () => ["cluster.local"],
      trustDomain: () => "td",
      multiRoot: false,
      pollMs: 20,
      rootCheckMs: 20,
      rootGracePercent: 20,
      nowMs: () => nowMs,
      random: () => 0.5,
      log: noopLogger,
      onProblem: (reason) => problems.push(reason),
      ...more,
    });
    return { made, problems };
  }

  async function plugIn(files: Readonly<Record<string, string>>): Promise<void> {
    await mkdir(join(directory, "cacerts"), { recursive: true });
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, "cacerts", name), text);
  }
  const own = { "ca-cert.pem": good.certificatePem, "ca-key.pem": good.keyPem, "root-cert.pem": good.rootsPem };

  it("several processes that start at once share one self-signed root, with a private key file", async () => {
    const all = await Promise.all([1, 2, 3].map(() => openSelfSigned(selfSigned(), nowMs)));
    assert.equal(new Set(all.map(({ keyPem, certificatePem: text }) => keyPem + text)).size, 1);
    assert.deepEqual((await readdir(join(directory, "self"))).sort(), ["ca-cert.pem", "ca-key.pem"]);
    assert.equal((await stat(join(directory, "self", "ca-key.pem"))).mode & 0o777, 0o600);
    assert.equal(readMaterial(all[0] ?? assert.fail(), ["td"], nowMs).chain.length, 0);
  });

  it("a root that a control plane made and stored in cacerts is plugged in, unless it is that of the store", async () => {
    await plugIn({ ...own, "istio-generated": "" });
    const plugged = source();
    assert.equal(await plugged.made.load(), true);
    assert.equal(plugged.made.current?.rootsPem, good.rootsPem);
    const ignoring = source({ ignoresGenerated: true });
    assert.equal(await ignoring.made.load(), true);
    assert.equal(ignoring.made.current?.certificate.subject.organization, "td");
  });

  it("a root is renewed in the last part of its life, for the same key and name, by one of the replicas", async () => {
    const before = await openSelfSigned(selfSigned(), nowMs);
    const early = await renewSelfSigned(selfSigned(), 20, nowMs + 79 * hourMs);
    assert.equal(early.certificatePem, before.certificatePem);
    const renewed = await renewSelfSigned({ ...selfSigned(), trustDomain: "new" }, 20, nowMs + 81 * hourMs);
    assert.equal(parseCertificatePem(renewed.certificatePem).subject.organization, "td");
    assert.notEqual(renewed.certificatePem, before.certificatePem);
    assert.equal(renewed.keyPem, before.keyPem);
    assert.equal((await renewSelfSigned(selfSigned(), 20, nowMs + 82 * hourMs)).certificatePem, renewed.certificatePem);
    assert.equal(isRenewalDue({ notBeforeMs: 0, notAfterMs: 100 }, 20, 79), false);
    assert.equal(isRenewalDue({ notBeforeMs: 0, notAfterMs: 100 }, 20, 80), true);
  });

  it("the running source renews its root without a change of roots being refused", async () => {
    let at = nowMs;
    const { made } = source({ nowMs: () => at });
    await made.load();
    const before = made.current;
    const stop = new AbortController();
    const following = made.follow(stop.signal);
    at += 90 * hourMs;
    await until(() => made.current !== before, { withinMs: 30_000, what: "a renewed root" });
    stop.abort();
    await following;
    assert.ok(made.current?.certificate.spki.equals(before?.certificate.spki ?? Buffer.alloc(0)));
  });

  it("a source that may not renew its root goes on with it until another replica has renewed it", async () => {
    let at = nowMs;
    const lines: string[] = [];
    const log = { ...noopLogger, info: (text: string) => void lines.push(text) };
    const disk = diskStore(join(directory, "self"));
    let looks = 0;
    const open: typeof disk.open = (...asked) => {
      looks++;
      return disk.open(...asked);
    };
    const { made } = source({ nowMs: () => at, mayRenew: () => false, store: { ...disk, open }, log });
    await made.load();
    const before = made.current;
    const changes: unknown[] = [];
    made.onChange((material) => changes.push(material));
    const stop = new AbortController();
    const following = made.follow(stop.signal);
    at += 90 * hourMs;
    await until(() => looks >= 4, { withinMs: 30_000, what: "looks at the root" });
    assert.deepEqual([made.current === before, changes, lines.filter((line) => /renewed/.test(line))], [true, [], []]);
    await renewSelfSigned(selfSigned(), 20, at);
    await until(() => made.current !== before, { withinMs: 30_000, what: "the renewed root" });
    assert.deepEqual([changes.length, lines.filter((line) => /renewed/.test(line))], [1, ["self-signed root renewed"]]);
    stop.abort();
    await following;
  });

  for (const [layout, files] of [
    ["its own", own],
    ["kubernetes.io/tls", { "tls.crt": good.certificatePem, "tls.key": good.keyPem, "ca.crt": good.rootsPem }],
  ] as const) {
    it(`plugged-in material in ${layout} layout`, async () => {
      await plugIn(files);
      const { made, problems } = source();
      assert.equal(await made.load(), true);
      assert.deepEqual(
        [made.current?.origin, made.current?.rootsPem, problems],
        ["plugged-in", good.rootsPem, [undefined]],
      );
    });
  }

  it("bad material is reported and the last good stays; repaired material is taken by itself", async () => {
    await plugIn(own);
    const { made, problems } = source();
    await made.load();
    const stop = new AbortController();
    const following = made.follow(stop.signal);
    const changes: string[] = [];
    made.onChange(({ certificate }) => changes.push(certificate.serial));
    await plugIn({ "ca-key.pem": privateKeyPem(otherKey) });
    await until(() => /key does not belong.*last good one stays/.test(problems.at(-1) ?? ""), {
      withinMs: 30_000,
      what: "the refusal",
    });
    assert.ok(made.current?.rootsPem === good.rootsPem && changes.length === 0);
    const next = intermediate({ serial: Buffer.alloc(16, 6) });
    await plugIn({ "ca-cert.pem": pem(next), "ca-key.pem": good.keyPem });
    await until(() => changes.length === 1 && problems.at(-1) === undefined, {
      withinMs: 30_000,
      what: "the new intermediate",
    });
    await rm(join(directory, "cacerts"), { recursive: true });
    await until(() => /is gone/.test(problems.at(-1) ?? ""), { withinMs: 30_000, what: "the loss" });
    assert.equal(made.current?.certificate.serial, next.serial);
    stop.abort();
    await following;
  });

  it("a key without its certificate is refused, not replaced by a self-signed root", async () => {
    await plugIn({ "ca-key.pem": good.keyPem });
    const { made, problems } = source();
    assert.equal(await made.load(), false);
    assert.match(problems.at(-1) ?? "", /ca-cert\.pem is missing; there is none/);
  });

  it("a next root comes into use at once, and the old key is destroyed", async () => {
    const store = diskStore(join(directory, "self"));
    const first = await store.open(rootOptions, nowMs);
    assert.equal(await store.next(rootOptions, nowMs), undefined);
    const next = await store.makeNext(rootOptions, nowMs);
    assert.deepEqual(await store.makeNext(rootOptions, nowMs), next);
    assert.notEqual(next.keyPem, first.keyPem);
    assert.deepEqual(await store.open(rootOptions, nowMs), first);
    await store.promote();
    assert.deepEqual(await diskStore(join(directory, "self")).open(rootOptions, nowMs), next);
    assert.equal(await store.next(rootOptions, nowMs), undefined);
    const files = await readdir(join(directory, "self"), { recursive: true });
    assert.equal(files.filter((file) => file.endsWith("ca-key.pem")).length, 1);
    const { certificatePem: dropped } = await store.makeNext(rootOptions, nowMs);
    await store.dropNext("of another root");
    assert.notEqual(await store.next(rootOptions, nowMs), undefined);
    await store.dropNext(rootId(parseCertificatePem(dropped)));
    await store.promote();
    assert.deepEqual(await store.open(rootOptions, nowMs), next);
  });

  const swaps: readonly (readonly [string, boolean, string, boolean])[] = [
    ["the same roots", false, pem(root), true],
    ["a root more, one root to a mesh", false, pem(root, otherRoot), false],
    ["a root more, several roots to a mesh", true, pem(root, otherRoot), true],
  ];
  for (const [name, multiRoot, rootsPem, isTaken] of swaps) {
    it(`${name}: ${isTaken ? "taken" : "refused"}`, async () => {
      await plugIn(own);
      const { made, problems } = source({ multiRoot });
      await made.load();
      await plugIn({ "root-cert.pem": rootsPem });
      assert.equal(await made.load(), isTaken);
      assert.equal(made.current?.rootsPem === rootsPem, isTaken);
      assert.match(problems.at(-1) ?? "", isTaken ? /^$/ : /ISTIO_MULTIROOT_MESH/);
    });
  }

  it("another root in place of the old one is refused even then", async () => {
    await plugIn(own);
    const { made, problems } = source({ multiRoot: true });
    await made.load();
    await plugIn({ "root-cert.pem": pem(otherRoot), "ca-cert.pem": pem(intermediate({}, otherRoot, otherKey)) });
    assert.equal(await made.load(), false);
    assert.match(problems.at(-1) ?? "", /neither of the old and the new roots/);
    assert.equal(await readFile(join(directory, "cacerts", "root-cert.pem"), "utf8"), pem(otherRoot));
  });
});
