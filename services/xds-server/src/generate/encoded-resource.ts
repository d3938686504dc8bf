/** A resource as it travels: its bytes once, its version a hash of them. */
import type { TypeUrl } from "@flotilla/proto";

export interface EncodedResource {
  readonly name: string;
  readonly typeUrl: TypeUrl;
  /** Hash of `bytes`: equal contents have equal versions on every replica, after every restart. */
  readonly version: string;
  /** The resource's message (not wrapped in Any). */
  readonly bytes: Uint8Array;
}
