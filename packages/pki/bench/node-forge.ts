/**
 * The cost of a certificate with node-forge and with this package, on one core: reading a request, checking its signature, writing and
 * signing the certificate. One JSON line each, then how many of some malformed requests each takes. RSA-2048 throughout: node-forge
 * supports no other keys. `node packages/pki/bench/node-forge.ts [seconds]`.
 */
import { type KeyObject, randomBytes, sign } from "node:crypto";
import forge from "node-forge";
import {
  buildCsr,
  csrPem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  parseCsr,
  parseCsrPem,
  privateKeyPem,
  spkiOf,
  verifyCsr,
} from "../src/index.ts";

const seconds = Number(process.argv[2] ?? 1);
const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
const identity = "spiffe://cluster.local/ns/shop/sa/reviews";
const caKey = await generatePrivateKey("rsa-2048");
const key = await generatePrivateKey("rsa-2048");
const root = issueRoot({ serial: randomBytes(16), subject: { organization: "bench" }, ...times }, caKey);
const issuer = issuerOf(root, caKey);
const der = buildCsr({ key });
const pem = csrPem(der);
const forgedCsr = forge.pki.certificationRequestFromPem(pem);
const forgedKey = forge.pki.privateKeyFromPem(privateKeyPem(caKey));
const csr = parseCsrPem(pem);
const spki = spkiOf(key);
const sans = [{ type: "uri", value: identity }] as const;

function forged(): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.serialNumber = randomBytes(16).toString("hex");
  certificate.validity.notBefore = new Date(times.notBeforeMs);
  certificate.validity.notAfter = new Date(times.notAfterMs);
  certificate.setIssuer([{ name: "organizationName", value: "bench" }]);
  if (forgedCsr.publicKey !== null) certificate.publicKey = forgedCsr.publicKey;
  certificate.setExtensions([
    { name: "keyUsage", critical: true, digitalSignature: true, keyEncipherment: true },
    { name: "extKeyUsage", serverAuth: true, clientAuth: true },
    { name: "basicConstraints", critical: true, cA: false },
    { name: "subjectAltName", critical: true, altNames: [{ type: 6, value: identity }] },
  ]);
  return certificate;
}

/** The certificate as node-forge writes it, signed by `node:crypto`. */
function forgedButSigned(signingKey: KeyObject): string {
  const certificate = forged();
  const oid = forge.pki.oids["sha256WithRSAEncryption"] ?? "";
  Object.assign(certificate, { signatureOid: oid, siginfo: { algorithmOid: oid } });
  // The types of node-forge do not declare that this is public.
  const { getTBSCertificate } = forge.pki as unknown as {
    getTBSCertificate(certificate: forge.pki.Certificate): forge.asn1.Asn1;
  };
  const tbs = forge.asn1.toDer(getTBSCertificate(certificate)).getBytes();
  const signature = sign("sha256", Buffer.from(tbs, "binary"), signingKey);
  Object.assign(certificate, {
    tbsCertificate: getTBSCertificate(certificate),
    signature: signature.toString("binary"),
  });
  return forge.asn1.toDer(forge.pki.certificateToAsn1(certificate)).getBytes();
}

const steps: readonly (readonly [step: string, by: string, run: () => unknown])[] = [
  ["read a request", "node-forge", () => forge.pki.certificationRequestFromPem(pem)],
  ["read a request", "pki", () => parseCsrPem(pem)],
  ["check its signature", "node-forge", () => forgedCsr.verify()],
  ["check its signature", "pki", () => verifyCsr(csr)],
  ["write and sign", "node-forge", () => forged().sign(forgedKey, forge.md.sha256.create())],
  ["write and sign", "node-forge, signed by node:crypto", () => forgedButSigned(caKey)],
  ["write and sign", "pki", () => issueLeaf({ serial: randomBytes(16), spki, sans, ...times }, issuer)],
];
for (const [step, by, run] of steps) {
  for (let i = 0; i < 20; i++) run();
  let count = 0;
  const before = process.cpuUsage();
  for (const until = performance.now() + seconds * 1000; performance.now() < until; count++) run();
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(
    `${JSON.stringify({ bench: "node-forge", step, by, microsecondsOfCpu: Math.round((user + system) / count) })}\n`,
  );
}

/** Each breaks one rule; the outermost element of a request has a length of two bytes. */
const contents = der.subarray(4);
const sequenceOf = (length: readonly number[], ...parts: readonly Buffer[]) =>
  Buffer.concat([Buffer.from([0x30, ...length]), ...parts]);
const twoBytes = (length: number) => [length >> 8, length & 255];
const oddVersion = Buffer.from(der);
oddVersion.writeUInt8(7, der.indexOf(Buffer.from([2, 1, 0])) + 2);
const malformed: Readonly<Record<string, Buffer>> = {
  "bytes after the end": Buffer.concat([der, Buffer.from([0])]),
  "a length that is not minimal": sequenceOf([0x83, 0, ...twoBytes(contents.length)], contents),
  "an indefinite length": sequenceOf([0x80], contents, Buffer.from([0, 0])),
  "an element more": sequenceOf([0x82, ...twoBytes(contents.length + 2)], contents, Buffer.from([5, 0])),
  "an unknown version": oddVersion,
};
const takes = (read: () => unknown) => {
  try {
    read();
    return true;
  } catch {
    return false;
  }
};
for (const [what, bytes] of Object.entries(malformed)) {
  const text = forge.pem.encode({ type: "CERTIFICATE REQUEST", body: bytes.toString("binary") });
  const taken = {
    "node-forge": takes(() => forge.pki.certificationRequestFromPem(text)),
    pki: takes(() => parseCsr(bytes)),
  };
  process.stdout.write(`${JSON.stringify({ bench: "node-forge", malformed: what, taken })}\n`);
}
