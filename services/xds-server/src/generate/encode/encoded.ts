/**
 * Encoded messages and parts of messages. A large container (a route configuration, a name table) is a list of parts
 * that are encoded once each; its bytes are joined when they are sent, its version comes from those of its parts.
 */

import type { TypeUrl } from "@flotilla/proto";
import { query, type ViewQuery } from "../../snapshot/view.ts";
import { contentHash } from "./content-hash.ts";
import { type SliceText, sliceKeys, sliceTexts } from "./slices.ts";
import { concatBytes } from "./wire.ts";

export interface Encoded {
  readonly version: string;
  readonly bytes: Uint8Array;
}

export function encoded(bytes: Uint8Array): Encoded {
  return { bytes, version: contentHash(bytes) };
}

export function sameVersion(a: Encoded | undefined, b: Encoded | undefined): boolean {
  return a?.version === b?.version;
}

export class Joined implements Encoded {
  readonly version: string;
  readonly #parts: readonly Encoded[];

  constructor(parts: readonly Encoded[]) {
    this.#parts = parts;
    this.version = contentHash(parts.map(({ version }) => version).join(""));
  }

  get bytes(): Uint8Array {
    return concatBytes(this.#leaves().map(({ bytes }) => bytes));
  }

  #leaves(): readonly Encoded[] {
    return this.#parts.flatMap((part) => (part instanceof Joined ? part.#leaves() : [part]));
  }
}

/**
 * The parts of a container whose keys `list` gives, joined in slices: a change of one part costs its slice and a look
 * at the others, not a look at every part. Views whose lists are alike in a slice share it.
 */
export function slicedParts<Arg extends string, Key extends string>(
  name: string,
  list: ViewQuery<Arg, readonly Key[]>,
  part: ViewQuery<Key, Encoded>,
): ViewQuery<Arg, readonly Encoded[]> {
  const texts = query<readonly SliceText<Key>[], Arg>(`${name}-slice-texts`, (view, argument) =>
    sliceTexts(view.read(list, argument)),
  );
  const slice = query<Encoded, SliceText<Key>>(
    `${name}-slice`,
    (view, text) => new Joined(sliceKeys(text).map((key) => view.read(part, key))),
    sameVersion,
  );
  return query<readonly Encoded[], Arg>(`${name}-slices`, (view, argument) =>
    view.read(texts, argument).map((text) => view.read(slice, text)),
  );
}

/** A resource as it travels: its bytes once, its version a hash of them. */
export interface EncodedResource extends Encoded {
  readonly name: string;
  readonly typeUrl: TypeUrl;
  /** Hash of the contents: equal contents have equal versions on every replica, after every restart. */
  readonly version: string;
  /** The resource's message (not wrapped in Any); containers join theirs anew each time it is asked for. */
  readonly bytes: Uint8Array;
}
