import assert from "node:assert/strict";
import type { KeyObject } from "node:crypto";
import { describe, it } from "node:test";
import { generatePrivateKey, spkiOf } from "../keys.ts";
import { oids } from "../oids.ts";
import { type Certificate, parseCertificate } from "./certificate.ts";
import { describe as describeCertificate, verifyChain } from "./chain.ts";
import { basicConstraints, type Extension, extKeyUsage } from "./extensions.ts";
import { type CaRequest, issueCa, issueLeaf, issueRoot, issuerOf, signCertificate } from "./issue.ts";

const serial = Buffer.alloc(16, 7);
const nowMs = 1_000_000_000;
const times = { notBeforeMs: 0, notAfterMs: 2_000_000_000 };
const key = await generatePrivateKey("ecdsa-p256");
const otherKey = await generatePrivateKey("ecdsa-p256");
const rsaKey = await generatePrivateKey("rsa-2048");

const root = issueRoot({ serial, ...times, subject: { commonName: "root" } }, key);
const sameNameOtherKey = issueRoot({ serial, ...times, subject: { commonName: "root" } }, otherKey);

const renamed = issueRoot({ serial, ...times, notAfterMs: 1, subject: { commonName: "root" } }, otherKey);

function ca(name: string, below: Certificate, signer: KeyObject, more: Partial<CaRequest> = {}): Certificate {
  const request = { serial, ...times, subject: { commonName: name }, spki: spkiOf(key), ...more };
  return parseCertificate(issueCa(request, issuerOf(below, signer)));
}

function leafOf(issuer: Certificate, signer: KeyObject = key, more: object = {}): Certificate {
  const sans = [{ type: "uri", value: "spiffe://td/ns/a/sa/b" } as const];
  return parseCertificate(
    issueLeaf({ serial, ...times, sans, spki: spkiOf(rsaKey), ...more }, issuerOf(issuer, signer)),
  );
}

const middle = ca("middle", root, key);
const deep = ca("deep", middle, key);

interface Case {
  readonly name: string;
  readonly leaf: Certificate;
  readonly intermediates?: readonly Certificate[];
  readonly roots?: readonly Certificate[];
  readonly usage?: "server" | "client";
  readonly nowMs?: number;
  /** Length of the path, or why there is none. */
  readonly result: number | RegExp;
}

function signed(
  extensions: readonly Extension[],
  more: Partial<Parameters<typeof signCertificate>[0]> = {},
): Certificate {
  const template = { serial, ...times, subject: { commonName: "x" }, spki: spkiOf(key), sans: [], extensions, ...more };
  return parseCertificate(signCertificate(template, issuerOf(root, key)));
}

function withExtension(critical: boolean): Certificate {
  return signed([{ id: "1.2.3.4", critical, value: Buffer.of(5, 0) }]);
}

function withUse(id: string): Certificate {
  return signed([extKeyUsage([id])]);
}

const withoutKeyUsage = signed([basicConstraints({ isCa: true })], { subject: { commonName: "plain" } });
const shortCa = ca("short", root, key, { pathLength: 0 });
const selfIssued = ca("short", shortCa, key, { serial: Buffer.of(9) });

/** CAs below each other, the lowest first. */
function lineOf(count: number): readonly Certificate[] {
  let line: readonly Certificate[] = [];
  for (let i = 0; i < count; i++) line = [ca(`ca-${i}`, line[0] ?? root, key), ...line];
  return line;
}

const cases: readonly Case[] = [
  { name: "directly below a root", leaf: leafOf(root), result: 2 },
  { name: "over two intermediates in any order", leaf: leafOf(deep), intermediates: [deep, middle], result: 4 },
  { name: "an intermediate is missing", leaf: leafOf(deep), intermediates: [deep], result: /no trusted root/ },
  { name: "a trusted intermediate ends the path", leaf: leafOf(deep), roots: [deep], result: 2 },
  {
    name: "the root of the same name with another key",
    leaf: leafOf(root),
    roots: [sameNameOtherKey],
    result: /signature/,
  },
  { name: "the right one of two roots with one name", leaf: leafOf(root), roots: [sameNameOtherKey, root], result: 2 },
  { name: "no root at all", leaf: leafOf(root), roots: [], result: /no trusted root/ },
  { name: "self-signed stranger", leaf: sameNameOtherKey, result: /no trusted root|signature/ },
  { name: "the leaf has expired", leaf: leafOf(root), nowMs: 2_000_000_001, result: /expired/ },
  {
    name: "the leaf is not valid yet",
    leaf: leafOf(root, key, { notBeforeMs: nowMs + 1000 }),
    result: /not valid before/,
  },
  {
    name: "an intermediate has expired",
    leaf: leafOf(ca("old", root, key)),
    intermediates: [ca("old", root, key, { notAfterMs: nowMs - 1000 })],
    result: /issuer old: expired/,
  },
  {
    name: "a leaf signs a leaf",
    leaf: leafOf(leafOf(root)),
    intermediates: [leafOf(root)],
    result: /not a CA|no trusted/,
  },
  {
    name: "an issuer may not sign certificates",
    leaf: leafOf(ca("crl", root, key, { keyUsages: ["cRLSign"] })),
    intermediates: [ca("crl", root, key, { keyUsages: ["cRLSign"] })],
    result: /does not allow to sign/,
  },
  {
    name: "path length exceeded",
    leaf: leafOf(ca("low", ca("short", root, key, { pathLength: 0 }), key)),
    intermediates: [
      ca("short", root, key, { pathLength: 0 }),
      ca("low", ca("short", root, key, { pathLength: 0 }), key),
    ],
    result: /path length 0/,
  },
  {
    name: "path length kept",
    leaf: leafOf(ca("short", root, key, { pathLength: 0 })),
    intermediates: [ca("short", root, key, { pathLength: 0 })],
    result: 3,
  },
  { name: "a use that the leaf allows", leaf: leafOf(root, key, { usages: ["client"] }), usage: "client", result: 2 },
  {
    name: "a use that it does not",
    leaf: leafOf(root, key, { usages: ["client"] }),
    usage: "server",
    result: /server/,
  },
  { name: "an unknown critical extension", leaf: withExtension(true), result: /1\.2\.3\.4/ },
  { name: "an unknown extension that is not critical", leaf: withExtension(false), result: 2 },
  { name: "the last moment of the leaf", leaf: leafOf(root), nowMs: 2_000_000_000, result: 2 },
  { name: "the first moment of the leaf", leaf: leafOf(root, key, { notBeforeMs: nowMs }), result: 2 },
  { name: "a leaf that may serve", leaf: leafOf(root, key, { usages: ["server"] }), usage: "server", result: 2 },
  {
    name: "a leaf that may only serve",
    leaf: leafOf(root, key, { usages: ["server"] }),
    usage: "client",
    result: /client/,
  },
  { name: "a leaf that names no use", leaf: leafOf(root, key, { usages: [] }), usage: "client", result: 2 },
  { name: "a leaf for any use", leaf: withUse(oids.anyExtendedKeyUsage), usage: "server", result: 2 },
  {
    name: "a leaf for another use",
    leaf: withUse("1.3.6.1.5.5.7.3.4"),
    usage: "server",
    result: /not for use as server/,
  },
  { name: "a leaf for another use where none is asked for", leaf: withUse("1.3.6.1.5.5.7.3.4"), result: 2 },
  {
    name: "an issuer whose certificate names no use of its key",
    leaf: leafOf(withoutKeyUsage),
    intermediates: [withoutKeyUsage],
    result: 3,
  },
  {
    name: "a self-issued CA, which counts for no path length",
    leaf: leafOf(selfIssued),
    intermediates: [selfIssued, shortCa],
    result: 4,
  },
  { name: "as many as eight", leaf: leafOf(lineOf(6)[0] ?? root), intermediates: lineOf(6), result: 8 },
  { name: "more than eight", leaf: leafOf(lineOf(7)[0] ?? root), intermediates: lineOf(7), result: /no trusted root/ },
];

describe("chain", () => {
  for (const { name, result, ...given } of cases) {
    it(name, () => {
      const request = { intermediates: [], roots: [root], nowMs, ...given };
      if (typeof result === "number") assert.equal(verifyChain(request).length, result);
      else
        assert.throws(
          () => verifyChain(request),
          (error: Error) => /^\[PKI_UNTRUSTED\]/.test(error.message) && result.test(error.message),
        );
    });
  }

  it("CAs that sign each other in a circle end the search", () => {
    const a = ca("a", ca("b", root, key), key);
    const b = ca("b", ca("a", root, key), key);
    assert.throws(() => verifyChain({ leaf: leafOf(a), intermediates: [a, b], roots: [root], nowMs }), {
      code: "PKI_UNTRUSTED",
    });
  });

  it("a renewed root with the same key verifies what the old one signed", () => {
    const renewed = issueRoot({ serial, ...times, notAfterMs: 9_000_000_000, subject: { commonName: "root" } }, key);
    assert.equal(verifyChain({ leaf: leafOf(root), intermediates: [], roots: [renewed], nowMs }).length, 2);
  });

  it("the first issuer that does not do is named", () => {
    const request = { leaf: leafOf(root), intermediates: [], roots: [sameNameOtherKey, renamed], nowMs };
    assert.throws(() => verifyChain(request), /certificate spiffe:\/\/td\/ns\/a\/sa\/b: issuer root: .*signature/);
  });

  it("a certificate is named by what says most of it", () => {
    const named = {
      sans: [{ type: "dns", value: "a.test" }],
      subject: { commonName: "cn", organization: "o" },
    } as const;
    const of = (more: object) => describeCertificate({ ...root, ...named, ...more });
    assert.deepEqual(
      [of({}), of({ sans: [] }), of({ sans: [], subject: { organization: "o" } }), of({ sans: [], subject: {} })],
      ["a.test", "cn", "o", `serial ${root.serial}`],
    );
  });
});
