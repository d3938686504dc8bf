/** Subject alternative names. */
import { isIP } from "node:net";
import { readWhole } from "../der/reader.ts";
import { context, tag } from "../der/tags.ts";
import { element, sequence } from "../der/writer.ts";
import { PkiError } from "../errors.ts";

/** A subject alternative name; IP addresses as text. */
export type San =
  | { readonly type: "uri"; readonly value: string }
  | { readonly type: "dns"; readonly value: string }
  | { readonly type: "ip"; readonly value: string }
  | { readonly type: "email"; readonly value: string };

const dnsTag = context(2);
const emailTag = context(1);
const uriTag = context(6);
const ipTag = context(7);

/** The name that a host setting stands for: a SPIFFE identity, an address, or else a DNS name. */
export function sanOf(host: string): San {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(host)) return { type: "uri", value: host };
  return { type: isIP(host) === 0 ? "dns" : "ip", value: host };
}

/** The value of a SubjectAltName extension. @throws PkiError PKI_BAD_SAN if a name cannot be written as its type. */
export function encodeSans(sans: readonly San[]): Buffer {
  return sequence(...sans.map(encodeSan));
}

function encodeSan({ type, value }: San): Buffer {
  switch (type) {
    case "uri":
      return element(uriTag, ia5(value));
    case "dns":
      return element(dnsTag, ia5(value));
    case "email":
      return element(emailTag, ia5(value));
    case "ip":
      return element(ipTag, addressBytes(value));
    default:
      throw new PkiError("PKI_BAD_SAN", `unknown type ${JSON.stringify(type satisfies never)}`);
  }
}

function ia5(value: string): Buffer {
  // Control characters too: a NUL in the middle has fooled readers before.
  if (!/^[\x20-\x7e]+$/.test(value))
    throw new PkiError("PKI_BAD_SAN", `${JSON.stringify(value)} is empty or not plain ASCII`);
  return Buffer.from(value, "latin1");
}

/** The names in the value of the extension; other kinds of names are skipped. @throws PkiError PKI_BAD_DER, PKI_BAD_SAN */
export function parseSans(value: Buffer): readonly San[] {
  const names = readWhole(value, tag.sequence, "a subject alternative name");
  const found: San[] = [];
  while (!names.isAtEnd) {
    const { tag: kind, body } = names.next();
    if (kind === ipTag) found.push({ type: "ip", value: addressText(body) });
    else if (kind === uriTag || kind === dnsTag || kind === emailTag) {
      const text = body.toString("latin1");
      if (!/^[\x20-\x7e]*$/.test(text)) throw new PkiError("PKI_BAD_SAN", "a name is not plain ASCII");
      found.push({ type: kind === uriTag ? "uri" : kind === dnsTag ? "dns" : "email", value: text });
    }
  }
  return found;
}

function addressBytes(address: string): Buffer {
  const version = isIP(address);
  if (version === 0) throw new PkiError("PKI_BAD_SAN", `${JSON.stringify(address)} is not an address`);
  if (version === 4) return Buffer.from(address.split(".").map(Number));
  // The URL parser accepts every spelling of an IPv6 address and writes one.
  const [head = "", tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const groups = (part: string | undefined): readonly string[] =>
    part === undefined || part === "" ? [] : part.split(":");
  const before = groups(head);
  const after = groups(tail);
  const all = [...before, ...new Array<string>(8 - before.length - after.length).fill("0"), ...after];
  const bytes = Buffer.alloc(16);
  for (const [i, group] of all.entries()) bytes.writeUInt16BE(Number.parseInt(group, 16), i * 2);
  return bytes;
}

function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return [...bytes].join(".");
  if (bytes.length !== 16) throw new PkiError("PKI_BAD_SAN", `an address of ${bytes.length} bytes`);
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16));
  return new URL(`http://[${groups.join(":")}]/`).hostname.slice(1, -1);
}

/** The URIs that are SPIFFE identities. */
export function spiffeIds(sans: readonly San[]): readonly string[] {
  return sans.filter(({ type, value }) => type === "uri" && value.startsWith("spiffe://")).map(({ value }) => value);
}
