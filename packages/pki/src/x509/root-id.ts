/** Names a CA by its key: a renewed certificate for the same key and name verifies what the old one signed. */
import { createHash } from "node:crypto";
import type { Certificate } from "./certificate.ts";

/** 16 hexadecimal digits of the SHA-256 of the key. */
export function rootId({ spki }: Pick<Certificate, "spki">): string {
  return createHash("sha256").update(spki).digest("hex").slice(0, 16);
}
