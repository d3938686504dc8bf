/**
 * The header `x-forwarded-client-cert` as Envoy writes it: one element for each hop, separated by commas; in an element
 * `Key=value` pairs separated by semicolons; values in quotes, with backslashes, where they hold any of `,;=`.
 */
import { createHash } from "node:crypto";
import { encodePem } from "@flotilla/pki";

export interface XfccElement {
  readonly by: readonly string[];
  readonly hash?: string;
  readonly subject?: string;
  readonly uris: readonly string[];
  readonly dns: readonly string[];
  /** PEM of the certificate that the hop has verified. */
  readonly certificate?: string;
}

/** Undefined if the header is malformed: a half-read one would name half of the hops. */
export function parseXfcc(header: string): readonly XfccElement[] | undefined {
  const elements: XfccElement[] = [];
  for (const element of splitOutsideQuotes(header, ",")) {
    const parsed = parseElement(element);
    if (parsed === undefined) return undefined;
    elements.push(parsed);
  }
  return elements;
}

function parseElement(text: string): XfccElement | undefined {
  const by: string[] = [];
  const uris: string[] = [];
  const dns: string[] = [];
  let hash: string | undefined;
  let subject: string | undefined;
  let certificate: string | undefined;
  for (const pair of splitOutsideQuotes(text, ";")) {
    const at = pair.indexOf("=");
    const value = at < 0 ? undefined : unquote(pair.slice(at + 1).trim());
    if (value === undefined) return undefined;
    switch (pair.slice(0, at).trim().toLowerCase()) {
      case "by":
        by.push(value);
        break;
      case "hash":
        hash = value;
        break;
      case "subject":
        subject = value;
        break;
      case "uri":
        uris.push(value);
        break;
      case "dns":
        dns.push(value);
        break;
      case "cert":
        certificate = decodedPem(value);
        if (certificate === undefined) return undefined;
        break;
      case "chain":
        break;
      default:
        return undefined;
    }
  }
  return {
    ...{ by, uris, dns },
    ...(hash !== undefined && { hash }),
    ...(subject !== undefined && { subject }),
    ...(certificate !== undefined && { certificate }),
  };
}

/** Envoy encodes the PEM as in a URL. */
function decodedPem(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

function splitOutsideQuotes(text: string, separator: string): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  let inQuotes = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (inQuotes && character === "\\") at++;
    else if (character === '"') inQuotes = !inQuotes;
    else if (character === separator && !inQuotes) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(text.slice(from));
  return parts;
}

function unquote(value: string): string | undefined {
  if (!value.startsWith('"')) return value.includes('"') ? undefined : value;
  if (value.length < 2 || !/^"(?:[^"\\]|\\.)*"$/.test(value)) return undefined;
  return value.slice(1, -1).replaceAll(/\\(.)/g, "$1");
}

/** One element that names a caller by its certificate (DER) and the URIs in it. */
export function formatXfcc(certificate: Buffer, uris: readonly string[]): string {
  const hash = createHash("sha256").update(certificate).digest("hex");
  const pem = encodeURIComponent(encodePem("CERTIFICATE", certificate));
  return [`Hash=${hash}`, `Cert="${pem}"`, ...uris.map((uri) => `URI=${quote(uri)}`)].join(";");
}

function quote(value: string): string {
  return /[,;="]/.test(value) ? `"${value.replaceAll(/["\\]/g, "\\$&")}"` : value;
}

/** The common name in a subject such as `CN=hop1,OU=x` or `/O=x/CN=hop1`. */
export function commonNameOf(subject: string): string | undefined {
  return /(?:^|[,/]\s*)CN=((?:[^,/\\]|\\.)+)/i.exec(subject)?.[1]?.replaceAll(/\\(.)/g, "$1");
}
