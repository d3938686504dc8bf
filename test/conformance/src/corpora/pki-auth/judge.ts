/** Cases of the corpus, and what "equal" means for results that are random or of another type than ours. */
import { isDeepStrictEqual } from "node:util";

export interface PkiCase {
  readonly name: string;
  readonly function?: string;
  readonly args?: readonly never[];
  readonly expected: { readonly returns?: readonly unknown[] } & Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** Undefined if the case passes, else why not. May throw: then it fails with that. */
export type Judge = (one: PkiCase) => undefined | string | Promise<undefined | string>;

/** Returns what the function of Istio does but for its error; throws where that has one. */
export type Counterpart = (...args: never[]) => unknown | Promise<unknown>;

/** Certificates that the tests made lived for a day: this is the time of the recording. */
export const nowMs = Date.parse("2026-11-21T02:40:00Z");

/** `{"$object": type}`: something, and it was checked while it was made. */
const isSomething = (want: unknown): boolean => typeof want === "object" && want !== null && "$object" in want;
const isError = (want: unknown): boolean => typeof want === "object" && want !== null && "$error" in want;

/** Any refusal counts as the expected error; without one, the results must be equal. */
export function judgeReturns(functions: Readonly<Record<string, Counterpart>>): Judge {
  return async ({ function: called = "", args = [], expected: { returns = [] } }) => {
    const counterpart = functions[called.split(".").at(-1) ?? ""];
    const isRefusal = returns.some(isError);
    const wants = returns.filter((want, i) => !(want === null && i === returns.length - 1 && returns.length > 1));
    let got: unknown;
    try {
      got = await counterpart?.(...args);
    } catch (cause) {
      return isRefusal ? undefined : `refused: ${cause}`;
    }
    if (isRefusal) return `taken, but ${JSON.stringify(returns.find(isError))}`;
    const gots = wants.length > 1 && Array.isArray(got) ? got : [got];
    const different = wants.findIndex((want, i) => !isEqual(want, gots[i]));
    return different < 0
      ? undefined
      : `want ${JSON.stringify(wants[different])}, got ${JSON.stringify(gots[different])}`;
  };
}

function isEqual(want: unknown, got: unknown): boolean {
  if (isSomething(want)) return got !== undefined && got !== null;
  if (want === null) return got === undefined || got === null;
  if (typeof want === "string" && typeof got === "string") return want.trim() === got.trim();
  return isDeepStrictEqual(trimmed(want), trimmed(got));
}

/** Blank lines around PEM blocks mean nothing. */
function trimmed(value: unknown): unknown {
  return Array.isArray(value) ? value.map((item) => (typeof item === "string" ? item.trim() : item)) : value;
}

/** Bytes in the corpus: text of one byte a character, or base64. */
export function bytesOf(value: unknown): Buffer {
  if (typeof value === "string") return Buffer.from(value, "latin1");
  const base64 = (value as { $base64?: string } | undefined)?.$base64;
  return base64 === undefined ? Buffer.alloc(0) : Buffer.from(base64, "base64");
}
