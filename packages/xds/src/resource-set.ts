/** What there is to send of one type: immutable, so that streams compare and share it by identity. */

/** One resource as it travels: its bytes once, its version a hash of them. */
export interface Resource {
  readonly name: string;
  /** Of the resource's own message; nearly always the type that was asked for. */
  readonly typeUrl: string;
  /** Equal contents have equal versions, on every replica and after every restart. */
  readonly version: string;
  /** The resource's message, not wrapped in Any. */
  readonly bytes: Uint8Array;
}

export interface ResourceSet {
  readonly typeUrl: string;
  /** A hash of the names and versions in it. */
  readonly version: string;
  /** In the order in which they are sent. */
  readonly byName: ReadonlyMap<string, Resource>;
}
