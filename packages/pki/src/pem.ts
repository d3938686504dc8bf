/** PEM: blocks in text, text of blocks. */
import { PkiError } from "./errors.ts";

/** One block: the text between BEGIN and the dashes, and its bytes. */
export interface PemBlock {
  readonly label: string;
  readonly der: Buffer;
}

const marker = /-----(BEGIN|END) ([A-Z0-9 ]+)-----/g;

/**
 * Every block, in order; text between blocks is comment, and so is a beginning whose end does not follow.
 * @throws PkiError PKI_BAD_PEM if a block holds no base64.
 */
export function parsePem(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = [];
  let begun: { readonly label: string; readonly at: number } | undefined;
  for (const { 0: found, 1: kind, 2: label = "", index } of text.matchAll(marker)) {
    if (kind === "BEGIN") begun = { label, at: index + found.length };
    else if (begun?.label === label && /^\r?\n/.test(text.slice(begun.at, begun.at + 2))) {
      blocks.push({ label, der: decodeBody(label, text.slice(begun.at, index).trimStart()) });
      begun = undefined;
    }
  }
  return blocks;
}

/**
 * The first block, which must have one of the labels.
 * @throws PkiError PKI_BAD_PEM
 */
export function parseOnePem(text: string, labels: readonly string[]): PemBlock {
  const [first] = parsePem(text);
  if (first === undefined) throw new PkiError("PKI_BAD_PEM", `no PEM block where a ${labels[0]} belongs`);
  if (!labels.includes(first.label)) throw new PkiError("PKI_BAD_PEM", `a ${first.label} where a ${labels[0]} belongs`);
  return first;
}

/** One block, with a newline at its end. */
export function encodePem(label: string, der: Uint8Array): string {
  const base64 = Buffer.from(der.buffer, der.byteOffset, der.byteLength).toString("base64");
  let lines = "";
  for (let at = 0; at < base64.length; at += 64) lines += `${base64.slice(at, at + 64)}\n`;
  return `-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`;
}

/** Two texts of PEM blocks as one: files of others often end without a newline. */
export function appendPem(before: string, after: string): string {
  return before === "" || before.endsWith("\n") || after === "" ? before + after : `${before}\n${after}`;
}

function decodeBody(label: string, inside: string): Buffer {
  // Headers such as Proc-Type end with an empty line (RFC 1421).
  const body = /^[A-Za-z-]+:/.test(inside) ? inside.slice(inside.search(/\r?\n\r?\n/)) : inside;
  const base64 = body.replaceAll(/\s+/g, "");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64) || base64.length % 4 !== 0)
    throw new PkiError("PKI_BAD_PEM", `the ${label} block is not base64`);
  return Buffer.from(base64, "base64");
}
