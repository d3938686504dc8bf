/**
 * The one place where messages become bytes and content becomes a version: builders hand over a schema and a message, whole or as parts of
 * a container. Changes to messages after they were built (patches of EnvoyFilters) are made between the two. A large container (a route
 * configuration, a name table) is a list of parts that are encoded once each; its bytes are joined when they are sent, its version comes
 * from those of its parts.
 * Caches of generators, so that equal work is done once: results by their inputs, and pairs of objects that stand for both.
 */
import { hash } from "node:crypto";
import type { MessageShape } from "@bufbuild/protobuf";
import { Failure, type Finding } from "@flotilla/incremental";
import { encode, type GenMessage, type Message, Parts, type TypeUrl } from "@flotilla/proto";
import { type FailedResources, ResourceSlice } from "@flotilla/xds";
import { type SliceText, sliceKeys, sliceTexts } from "../../snapshot/row-index.ts";
import { query, type ViewQuery } from "../../snapshot/view.ts";

export interface Encoded {
  readonly version: string;
  readonly bytes: Uint8Array;
}

export function encoded(bytes: Uint8Array): Encoded {
  return { bytes, version: contentHash(bytes) };
}

/** 128 bits of SHA-256 as 32 hex digits: versions are compared between replicas, never checked for intent. */
export function contentHash(bytes: Uint8Array | string): string {
  return hash("sha256", bytes).slice(0, 32);
}

type Versioned = Pick<Encoded, "version">;

export function sameVersion(a: Versioned | undefined, b: Versioned | undefined): boolean {
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

export type ResourceOf = (name: string, content: Encoded, aliases?: readonly string[]) => EncodedResource;

/** One for each content: views with equal inputs hold the identical resource. */
export function sharedResources(typeUrl: TypeUrl): ResourceOf {
  const resources = new WeakMap<Encoded, EncodedResource>();
  return (name, content, aliases) => {
    const known = resources.get(content);
    if (known?.name === name) return known;
    const made = namedResource(typeUrl, name, content, aliases);
    resources.set(content, made);
    return made;
  };
}

function namedResource(
  typeUrl: TypeUrl,
  name: string,
  content: Encoded,
  aliases: readonly string[] | undefined,
): EncodedResource {
  // A getter, since containers join their bytes; it also keeps the content, which other views may share.
  const { version } = content;
  return {
    name,
    typeUrl,
    version,
    ...(aliases !== undefined && { aliases }),
    get bytes() {
      return content.bytes;
    },
  };
}

export interface Slice {
  readonly content: ResourceSlice;
  readonly version: string;
  /** Errors by the names of resources that cannot be made; none: undefined. */
  readonly failed?: FailedResources;
}

/** The metric of resources that cannot be made. */
const failedResource = "flotilla_failed_resource";

/** Resources that are made, one by one: an error concerns its own resource alone. */
export function sliceOf(
  typeUrl: TypeUrl,
  names: readonly string[],
  make: (name: string) => EncodedResource | Failure | undefined,
  report: (finding: Finding) => void,
): Slice {
  const resources: EncodedResource[] = [];
  const failed = new Map<string, unknown>();
  let lines = "";
  for (const name of names) {
    const made = make(name);
    if (made instanceof Failure) {
      failed.set(name, made.error);
      report(failureOf(typeUrl, name, made.error));
      lines += `${name}\n`;
    } else if (made !== undefined) {
      resources.push(made);
      lines += `${made.name} ${made.version}\n`;
    }
  }
  const content = new ResourceSlice(resources);
  return { content, version: contentHash(lines), ...(failed.size > 0 && { failed }) };
}

function failureOf(typeUrl: TypeUrl, name: string, error: unknown): Finding {
  const message = error instanceof Error ? error.message : String(error);
  return { metric: failedResource, object: `${typeUrl.slice(typeUrl.lastIndexOf(".") + 1)} ${name}`, message };
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

type Shape<Of extends Message> = MessageShape<GenMessage<Of>>;

export function encodedMessage<Of extends Message>(schema: GenMessage<Of>, message: Shape<Of>): Encoded {
  return encoded(encode(schema, message));
}

/** Some fields of a message that is joined from several. */
export function encodedFields<Of extends Message>(schema: GenMessage<Of>, fields: Shape<Of>): Uint8Array {
  return encode(schema, fields);
}

/** A message as one element of field `field` of its container: its parts, in the order of their numbers, are messages or bytes. */
export function encodedElement<Of extends Message>(
  field: number,
  schema: GenMessage<Of>,
  parts: readonly (Shape<Of> | Uint8Array)[],
): Encoded {
  const bytes = parts.map((part) => (part instanceof Uint8Array ? part : encode(schema, part)));
  return encoded(lengthDelimited(field, concatBytes(bytes)));
}

/**
 * Shares what was built from equal inputs between views: by the inputs' primitives and the identities of their
 * objects, one level deep. Nothing is kept that no view holds.
 */
export class BuildCache<Inputs extends object, Result extends object> {
  readonly #results = new Map<string, WeakRef<Result>>();
  readonly #build: (inputs: Inputs) => Result;
  readonly #keyOf: (inputs: Inputs) => string;
  #sweepAt = 1024;

  constructor(build: (inputs: Inputs) => Result, keyOf: (inputs: Inputs) => string = identityKey) {
    this.#build = build;
    this.#keyOf = keyOf;
  }

  get(inputs: Inputs): Result {
    const key = this.#keyOf(inputs);
    const known = this.#results.get(key)?.deref();
    if (known !== undefined) return known;
    const result = this.#build(inputs);
    this.#results.set(key, new WeakRef(result));
    if (this.#results.size > this.#sweepAt) this.#sweep();
    return result;
  }

  #sweep(): void {
    for (const [key, reference] of this.#results) if (reference.deref() === undefined) this.#results.delete(key);
    this.#sweepAt = Math.max(1024, this.#results.size * 2);
  }
}

const identities = new WeakMap<object, number>();
let nextIdentity = 1;

/** Equal texts mean inputs that are equal one level deep. */
export function identityKey(inputs: object): string {
  return Object.entries(inputs)
    .map(([name, value]) => `${name}=${valueKey(value)}`)
    .join("\n");
}

/** Certificates and private keys are longer: their keys here are as long as digests, and hold no secret. */
const longestText = 256;

function valueKey(value: unknown): string {
  if (typeof value === "object" && value !== null) return `#${identityOf(value)}`;
  const text = String(value);
  return text.length > longestText ? `digest:${contentHash(text)}` : `${typeof value}:${text}`;
}

function identityOf(value: object): number {
  let identity = identities.get(value);
  if (identity === undefined) {
    identity = nextIdentity++;
    identities.set(value, identity);
  }
  return identity;
}

export interface Pair<First extends object, Second extends object> {
  readonly first: First;
  readonly second: Second;
}

/** The identical pair for the identical two, as an argument of queries. */
export class Pairs<First extends object, Second extends object> {
  readonly #pairs = new WeakMap<First, WeakMap<Second, Pair<First, Second>>>();

  of(first: First, second: Second): Pair<First, Second> {
    let ofFirst = this.#pairs.get(first);
    if (ofFirst === undefined) {
      ofFirst = new WeakMap();
      this.#pairs.set(first, ofFirst);
    }
    let pair = ofFirst.get(second);
    if (pair === undefined) {
      pair = { first, second };
      ofFirst.set(second, pair);
    }
    return pair;
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
