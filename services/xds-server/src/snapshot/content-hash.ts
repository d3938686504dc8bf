/** Hashes that names of other objects are made of. */
import { hash } from "node:crypto";

/** In hexadecimal digits. */
export function sha256(text: string): string {
  return hash("sha256", text);
}
