/**
 * Encoded messages and parts of messages. A large container (a route configuration, a name table) is a list of parts
 * that are encoded once each; its bytes are joined when they are sent, its version comes from those of its parts.
 */
import { query, type ViewQuery } from "../../snapshot/view.ts";
import { contentHash } from "./content-hash.ts";
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

/** About the square root of the parts of a large container. */
const partsPerSlice = 48;

/**
 * The parts of a container whose keys `list` gives, joined in slices: a change of one part costs its slice and a look
 * at the others, not a look at every part.
 */
export function slicedParts(
  name: string,
  list: ViewQuery<string, readonly string[]>,
  part: ViewQuery<string, Encoded>,
): ViewQuery<string, readonly Encoded[]> {
  const slice = query<Encoded, string>(
    `${name}-slice`,
    (view, argument) => {
      const [index = "", ...rest] = argument.split("#");
      const start = Number(index) * partsPerSlice;
      const keys = view.read(list, rest.join("#")).slice(start, start + partsPerSlice);
      return new Joined(keys.map((key) => view.read(part, key)));
    },
    sameVersion,
  );
  return query<readonly Encoded[], string>(`${name}-slices`, (view, argument) => {
    const count = Math.ceil(view.read(list, argument).length / partsPerSlice);
    return Array.from({ length: count }, (_, index) => view.read(slice, `${index}#${argument}`));
  });
}
