/** A resource as it travels: its bytes once, its version a hash of them. */
import type { TypeUrl } from "@flotilla/proto";
import type { Encoded } from "./encoded.ts";

export interface EncodedResource extends Encoded {
  readonly name: string;
  readonly typeUrl: TypeUrl;
  /** Hash of the contents: equal contents have equal versions on every replica, after every restart. */
  readonly version: string;
  /** The resource's message (not wrapped in Any); containers join theirs anew each time it is asked for. */
  readonly bytes: Uint8Array;
}
