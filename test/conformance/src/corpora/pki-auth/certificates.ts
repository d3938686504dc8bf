/** Reading and checking: keys, certificates, requests, chains, files with them. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  appendPem,
  buildCsr,
  type Certificate,
  certificatePem,
  encodePem,
  encodeSans,
  generatePrivateKey,
  isSameKey,
  oids,
  parseCertificatePem,
  parseCertificatesPem,
  parseCsr,
  parseCsrPem,
  parsePem,
  parsePrivateKey,
  parseSans,
  type San,
  sanOf,
  verifyChain,
} from "@flotilla/pki";
import { bytesOf, type Counterpart, nowMs } from "./judge.ts";

interface GoExtension {
  readonly Id: readonly number[];
  readonly Critical?: boolean;
  readonly Value?: unknown;
}

interface VerifyFields {
  readonly Host?: string;
  readonly Org?: string;
  readonly CommonName?: string;
  readonly IsCA?: boolean;
  readonly KeyUsage?: number;
  readonly ExtKeyUsage?: readonly number[];
  readonly NotBefore?: string;
  readonly TTL?: string;
}

export function certificateFunctions(files: string): Readonly<Record<string, Counterpart>> {
  // Paths are relative to the package of the test.
  const read = (path: string) => readFile(join(files, "security/pkg/pki/util", path), "utf8");
  return {
    ParsePemEncodedCertificate: parseCertificatePem,
    ParsePemEncodedCertificateChain: (pem: string) => {
      const all = parseCertificatesPem(pem);
      return [all, certificatePem(all.at(-1) as Certificate)];
    },
    ParsePemEncodedCSR: parseCsrPem,
    ParsePemEncodedKey: parsePrivateKey,
    PemCertBytestoString: (pem: string) => parsePem(pem).map(({ label, der }) => encodePem(label, der)),
    AppendCertByte: appendPem,
    AppendRootCerts: async (pem: string, path: string) => appendPem(pem, path === "" ? "" : await read(path)),
    LoadSignerCredsFromFiles: async (certificate: string, key: string) => [
      parseCertificatePem(await read(certificate)),
      parsePrivateKey(await read(key)),
    ],
    DualUseCommonName: async (hosts: string) => {
      const [commonName = ""] = hosts.split(",");
      return parseCsr(buildCsr({ key: await generatePrivateKey("ecdsa-p256"), subject: { commonName } })).subject
        .commonName;
    },
    TimeBeforeCertExpires: (pem: string | null, now: string) =>
      goDuration(BigInt(parseCertificatePem(pem ?? "").notAfterMs) * 1_000_000n - nanosOf(now)),
    IsCertExpired: async (path: string) => parseCertificatePem(await read(path)).notAfterMs < nowMs,
    VerifyCertificate: verifyCertificate,
    BuildSANExtension: (identities: readonly { Type?: number; Value?: unknown }[]) =>
      sanExtension(identities.map(({ Type = 0, Value }) => identityOf(Type, bytesOf(Value)))),
    BuildSubjectAltNameExtension: (hosts: string) => sanExtension(hosts.split(",").map(sanOf)),
    ExtractIDs: (extensions: readonly GoExtension[]) => idsOf(extensions.find(isSan)),
    ExtractIDsFromSAN: (extension: GoExtension) => idsOf(isSan(extension) ? extension : undefined),
    ExtractSANExtension: (extensions: readonly GoExtension[]) => extensions.find(isSan),
  };
}

const isSan = ({ Id }: GoExtension): boolean => Id.join(".") === oids.subjectAltName;

function idsOf(extension: GoExtension | undefined): readonly string[] {
  if (extension === undefined) throw new Error("there is no subject alternative name");
  return parseSans(bytesOf(extension.Value)).map(({ value }) => value);
}

function sanExtension(sans: readonly San[]): GoExtension {
  // Critical as in a certificate without a subject.
  return {
    Critical: true,
    Id: oids.subjectAltName.split(".").map(Number),
    Value: { $base64: encodeSans(sans).toString("base64") },
  };
}

function identityOf(type: number, value: Buffer): San {
  const text = value.toString("latin1");
  if (type === 0) return { type: "dns", value: text };
  if (type === 2) return { type: "uri", value: text };
  if (type !== 1) throw new Error(`no names of type ${type}`);
  if (value.length !== 4 && value.length !== 16) throw new Error("an address has 4 or 16 bytes");
  return parseSans(Buffer.concat([Buffer.of(0x30, value.length + 2, 0x87, value.length), value]))[0] as San;
}

const goKeyUsages = [
  "digitalSignature",
  "nonRepudiation",
  "keyEncipherment",
  "dataEncipherment",
  "keyAgreement",
  "keyCertSign",
  "cRLSign",
];
const goExtKeyUsages = [oids.anyExtendedKeyUsage, oids.serverAuth, oids.clientAuth];

/** Throws what is wrong: the chain, the key, or a field that is not as expected. */
function verifyCertificate(
  keyPem: string | null,
  chainPem: string | null,
  rootPem: string,
  fields: VerifyFields,
): null {
  const roots = parseCertificatesPem(rootPem);
  const [leaf, ...intermediates] = parseCertificatesPem(chainPem ?? "");
  if (leaf === undefined) throw new Error("the chain is empty");
  verifyChain({ leaf, intermediates, roots, nowMs });
  if (!isSameKey(parsePrivateKey(keyPem ?? ""), leaf.publicKey))
    throw new Error("the key does not belong to the certificate");
  const names = leaf.sans.map(({ value }) => value);
  const { Host = "", Org, CommonName, IsCA = false, KeyUsage = 0, ExtKeyUsage = [], NotBefore, TTL } = fields;
  const same = (what: string, isSame: boolean): void => {
    if (!isSame) throw new Error(`${what} is not as expected`);
  };
  same("host", Host === "" || names.includes(Host));
  same("organization of the issuer", Org === undefined || leaf.issuer.organization === Org);
  same("common name", CommonName === undefined || leaf.subject.commonName === CommonName);
  same("CA", leaf.basicConstraints.isCa === IsCA);
  same("key usage", bitsOf(leaf) === KeyUsage);
  same(
    "extended key usage",
    JSON.stringify(leaf.extKeyUsage ?? []) === JSON.stringify(ExtKeyUsage.map((id) => goExtKeyUsages[id])),
  );
  same("start", NotBefore === undefined || leaf.notBeforeMs === Date.parse(NotBefore));
  same("length of life", TTL === undefined || leaf.notAfterMs - leaf.notBeforeMs === millisOf(TTL));
  return null;
}

const bitsOf = ({ keyUsage = [] }: Certificate): number =>
  keyUsage.reduce((bits, usage) => bits | (1 << goKeyUsages.indexOf(usage)), 0);

const unitsMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, ns: 1e-6 };

/** A duration as Go writes it. */
export function millisOf(duration: string): number {
  return [...duration.matchAll(/([\d.]+)(ns|ms|h|m|s)/g)].reduce(
    (sum, [, count, unit = ""]) => sum + Number(count) * (unitsMs[unit] ?? 0),
    0,
  );
}

function nanosOf(iso: string): bigint {
  const [, seconds = "", fraction = ""] = /^([^.]+)(?:\.(\d+))?Z$/.exec(iso) ?? [];
  return BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

function goDuration(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos;
  const seconds = size / 1_000_000_000n;
  const fraction = (size % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "");
  const [hours, minutes] = [seconds / 3600n, (seconds / 60n) % 60n];
  const front = hours > 0n ? `${hours}h${minutes}m` : minutes > 0n ? `${minutes}m` : "";
  return `${nanos < 0n ? "-" : ""}${front}${seconds % 60n}${fraction === "" ? "" : `.${fraction}`}s`;
}
