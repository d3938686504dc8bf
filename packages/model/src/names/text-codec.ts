/**
 * Several parts as one text that has a type of its own, for keys of maps and arguments of queries, which go by value. Only its codec
 * writes such a text: neither a plain one nor that of another codec passes for it.
 */

declare const brand: unique symbol;

export type Branded<Name extends string> = string & { readonly [brand]: Name };

export interface TextCodec<Name extends string, Parts extends Readonly<Record<string, string>>> {
  /** Of the parts only the last may hold the separator. */
  write(
    parts: { readonly [Field in keyof Parts]: string extends Parts[Field] ? string | number : Parts[Field] },
  ): Branded<Name>;
  /** @throws Error for a text that the codec did not write */
  read(text: Branded<Name>): Parts;
}

/** The text that a codec writes. */
export type TextOf<Codec> = Codec extends TextCodec<infer Name, infer _> ? Branded<Name> : never;

/**
 * @param fields the names of the parts, in the order in which they are written; `Parts` is given in full where a part is the text of
 * another codec
 */
export function textCodec<const Name extends string, const Field extends string>(
  name: Name,
  separator: string,
  fields: readonly Field[],
): TextCodec<Name, Readonly<Record<Field, string>>>;
export function textCodec<Name extends string, Parts extends Readonly<Record<string, string>>>(
  name: Name,
  separator: string,
  fields: readonly (keyof Parts & string)[],
): TextCodec<Name, Parts>;
export function textCodec(
  name: string,
  separator: string,
  fields: readonly string[],
): TextCodec<string, Readonly<Record<string, string>>> {
  return {
    write: (parts) => {
      // Joined, a text lies in one piece. One that grew by `+` would be put together again for the maps that it is looked up in.
      const values: (string | number)[] = [];
      // own key: fields are the codec's
      for (const field of fields) values.push(parts[field] as string | number);
      return values.join(separator) as Branded<string>;
    },
    read: (text) => {
      const parts: Record<string, string> = {};
      let start = 0;
      let left = fields.length;
      for (const field of fields) {
        const end = --left === 0 ? text.length : text.indexOf(separator, start);
        if (end < 0) throw new Error(`[MODEL_TEXT] ${JSON.stringify(text)} is no ${name}`);
        // own key: fields are the codec's
        parts[field] = text.slice(start, end);
        start = end + separator.length;
      }
      return parts;
    },
  };
}
