/** Versions of resources. The one place that decides how content becomes a version. */
import { hash } from "node:crypto";

/** 128 bits of SHA-256 as 32 hex digits: versions are compared between replicas, never checked for intent. */
export function contentHash(bytes: Uint8Array | string): string {
  return hash("sha256", bytes).slice(0, 32);
}
