/** One token of an action. */

type TokenKind = "dot" | "field" | "variable" | "identifier" | "number" | "text" | "punctuation";

export interface Token {
  readonly kind: TokenKind;
  /** Names without their `.` or with their `$`; the value of a text; the sign of a punctuation. */
  readonly text: string;
  readonly line: number;
  /** Blanks stand before it: `$x .name` are two operands, `$x.name` is one. */
  readonly spaced: boolean;
}

export type Scanned =
  | { readonly token: Pick<Token, "kind" | "text">; readonly end: number }
  | { readonly reason: string };

const patterns: readonly (readonly [TokenKind, RegExp])[] = [
  ["number", /[+-]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)/y],
  ["field", /\.([\p{L}_][\p{L}\p{N}_]*)/uy],
  ["variable", /(\$[\p{L}\p{N}_]*)/uy],
  ["identifier", /([\p{L}_][\p{L}\p{N}_]*)/uy],
  ["punctuation", /(:=|[=|(),])/y],
  ["dot", /\./y],
];

export function scanToken(source: string, position: number): Scanned {
  const first = source[position];
  if (first === '"' || first === "`" || first === "'") return scanQuoted(source, position, first);
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = position;
    const match = pattern.exec(source);
    if (match !== null) return { token: { kind, text: match[1] ?? match[0] }, end: pattern.lastIndex };
  }
  return { reason: `unexpected ${JSON.stringify(first)} in an action` };
}

function scanQuoted(source: string, position: number, quote: string): Scanned {
  let end = position + 1;
  while (end < source.length && source[end] !== quote) {
    if (quote !== "`" && source[end] === "\n") break;
    end += quote !== "`" && source[end] === "\\" ? 2 : 1;
  }
  if (source[end] !== quote) return { reason: "unterminated quoted text" };
  const inner = source.slice(position + 1, end);
  if (quote === "`") return { token: { kind: "text", text: inner }, end: end + 1 };
  const value = unescape(inner);
  if (value === undefined) return { reason: `wrong escape in ${source.slice(position, end + 1)}` };
  // A character constant is its number.
  if (quote === "'") return { token: { kind: "number", text: String(value.codePointAt(0) ?? 0) }, end: end + 1 };
  return { token: { kind: "text", text: value }, end: end + 1 };
}

const escapes: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
  "'": "'",
};

/** Escapes of Go's interpreted texts; undefined when one is none. */
function unescape(text: string): string | undefined {
  let isWrong = false;
  const value = text.replaceAll(
    /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([0-7]{3})|([\s\S]))/g,
    (
      _,
      u: string | undefined,
      long: string | undefined,
      x: string | undefined,
      octal: string | undefined,
      one: string,
    ) => {
      const hex = u ?? long ?? x;
      if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
      const escaped = Object.hasOwn(escapes, one) ? escapes[one] : undefined;
      isWrong ||= escaped === undefined;
      return escaped ?? "";
    },
  );
  return isWrong ? undefined : value;
}
