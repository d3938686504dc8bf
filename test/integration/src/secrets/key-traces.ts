/** Looks for private keys in bytes, in every form in which they may stand there. */
import { createPrivateKey } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";

/** Of a P-256 key in PKCS #8, as base64: what stands before the number is the same in all of them, the public key behind it. */
const numberBegins = 48;
const numberEnds = 90;

/** Texts and bytes of which none may be found: lines of PEM, pieces of its base64 as Secrets have it, the number itself. */
export function tracesOf(keyPem: string): readonly Buffer[] {
  const [, first = "", second = ""] = keyPem.split("\n");
  const lines = [first.slice(numberBegins), second.slice(0, numberEnds - first.length)];
  const encoded = Buffer.from(keyPem).toString("base64");
  const begin = Math.ceil((keyPem.indexOf(first) + numberBegins) / 3) * 4;
  const pieces = [encoded.slice(begin, begin + 16), encoded.slice(begin + 28, begin + 52)];
  const { d = "" } = createPrivateKey(keyPem).export({ format: "jwk" });
  const number = Buffer.from(d, "base64url");
  const texts = (["hex", "base64", "base64url"] as const).map((form) => number.toString(form));
  return [number, ...[...lines, ...pieces, ...texts].map((text) => Buffer.from(text))];
}

/** Files below, by path. */
export function filesBelow(directory: string): readonly (readonly [path: string, bytes: Buffer])[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => [path, readFileSync(path)]);
}

/** The bytes as they are, and unpacked where they can be. */
export function readableForms(bytes: Uint8Array): readonly Buffer[] {
  const plain = Buffer.from(bytes);
  try {
    return [plain, zstdDecompressSync(plain)];
  } catch {
    // Not packed, or sealed.
    return [plain];
  }
}
