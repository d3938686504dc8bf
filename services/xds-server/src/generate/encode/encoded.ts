/**
 * Encoded messages and parts of messages. A large container (a route configuration, a name table) is
 * a list of parts that are encoded once each; its bytes are joined when they are sent, its version comes from those of its parts.
 *
 * A long list of keys is cut into slices, so that what is made of the whole can be kept slice by slice. Where it is cut depends on the
 * keys themselves: one that comes or goes changes its own slice and leaves the others as they are.
 */

import { type Branded, fnv1a } from "@flotilla/model";
import type { TypeUrl } from "@flotilla/proto";
import { Parts } from "@flotilla/xds";
import { query, type ViewQuery } from "../../snapshot/view.ts";
import { contentHash } from "./content-hash.ts";

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
  readonly parts: readonly Encoded[];

  constructor(parts: readonly Encoded[]) {
    this.parts = parts;
    this.version = contentHash(parts.map(({ version }) => version).join(""));
  }

  get bytes(): Uint8Array {
    return concatBytes(this.#leaves().map(({ bytes }) => bytes));
  }

  #leaves(): readonly Encoded[] {
    return this.parts.flatMap((part) => (part instanceof Joined ? part.#leaves() : [part]));
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
  /** Other names by which it may be asked for. */
  readonly aliases?: readonly string[];
}

/** About the square root of the keys of a large list. */
const keysPerSlice = 48;
const maxKeysPerSlice = 8 * keysPerSlice;

/** Stands between the keys of a slice; none holds one. */
const separator = "\n";

declare const keyType: unique symbol;

/** The keys of a slice. */
export type SliceText<Key extends string = string> = Branded<"Slice"> & { readonly [keyType]?: Key };

/** In order; equal lists give equal slices. */
export function sliceTexts<Key extends string>(keys: readonly Key[]): readonly SliceText<Key>[] {
  const texts: SliceText<Key>[] = [];
  let start = 0;
  keys.forEach((key, index) => {
    const count = index + 1 - start;
    if (count < maxKeysPerSlice && index + 1 < keys.length && fnv1a(key) % keysPerSlice !== 0) return;
    texts.push(keys.slice(start, index + 1).join(separator) as SliceText<Key>);
    start = index + 1;
  });
  return texts;
}

export function sliceKeys<Key extends string>(text: SliceText<Key>): readonly Key[] {
  return text.split(separator) as Key[];
}

/** Joining encoded parts: a message's bytes are the bytes of its fields, one after the other. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

/** A message as one element of a field of the message around it. */
export function lengthDelimited(field: number, message: Uint8Array): Uint8Array {
  return new Parts().bytes(field, message).finish();
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
