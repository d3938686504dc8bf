/**
 * The functions of the sprig library that manifests use. None reads a clock, random numbers, files or the environment.
 */
import { fail, type TemplateFunctions } from "../builtins.ts";
import { isMap, isNothing, isStruct, isTrue, sortedKeys, typeName } from "../values.ts";
import { integer, list, number, same, text } from "./arguments.ts";
import { dictFunctions } from "./dicts.ts";
import { regexFunctions } from "./regexes.ts";
import { textFunctions } from "./texts.ts";

const uniq = (values: unknown): readonly unknown[] =>
  list(values).filter((value, index, all) => all.findIndex((other) => same(value, other)) === index);
const append = (values: unknown, value: unknown): readonly unknown[] => [...list(values), value];
const range = (start: number, end: number, step: number): readonly number[] => {
  const count = step === 0 ? 0 : Math.max(0, Math.ceil((end - start) / step));
  return Array.from({ length: count }, (_, index) => start + index * step);
};

/** Lists; none is changed in place. */
const listFunctions: TemplateFunctions = {
  list: (...values) => values,
  tuple: (...values) => values,
  first: (values) => list(values)[0],
  last: (values) => list(values).at(-1),
  rest: (values) => list(values).slice(1),
  initial: (values) => list(values).slice(0, -1),
  append,
  push: append,
  prepend: (values, value) => [value, ...list(values)],
  concat: (...lists) => lists.flatMap((values) => list(values)),
  reverse: (values) => list(values).toReversed(),
  uniq,
  without: (values, ...unwanted) => list(values).filter((value) => !unwanted.some((other) => same(value, other))),
  has: (wanted, values) => list(values).some((value) => same(value, wanted)),
  compact: (values) => list(values).filter(isTrue),
  until: (end) => range(0, integer(end), integer(end) < 0 ? -1 : 1),
  untilStep: (start, end, step) => range(integer(start), integer(end), integer(step)),
  chunk: (size, values) => {
    const all = list(values);
    if (integer(size) < 1) return fail("chunk needs a size of at least 1");
    return range(0, all.length, integer(size)).map((start) => all.slice(start, start + integer(size)));
  },
};

const sum = (values: readonly unknown[]): number => values.reduce<number>((total, value) => total + integer(value), 0);
const divisor = (value: unknown): number => integer(value) || fail("integer divide by zero");
const rounded = (change: (value: number) => number) => (value: unknown, digits: unknown) => {
  const scale = 10 ** integer(digits);
  return change(number(value) * scale) / scale;
};

/** Numbers: integers unless a function's name indicates otherwise. */
const mathFunctions: TemplateFunctions = {
  int: integer,
  int64: integer,
  float64: number,
  atoi: integer,
  toDecimal: (value) => Number.parseInt(String(value), 8) || 0,
  add: (...values) => sum(values),
  add1: (value) => integer(value) + 1,
  sub: (a, b) => integer(a) - integer(b),
  mul: (...values) => values.reduce<number>((product, value) => product * integer(value), 1),
  div: (a, b) => Math.trunc(integer(a) / divisor(b)),
  mod: (a, b) => integer(a) % divisor(b),
  max: (...values) => Math.max(...values.map(integer)),
  min: (...values) => Math.min(...values.map(integer)),
  floor: (value) => Math.floor(number(value)),
  ceil: (value) => Math.ceil(number(value)),
  round: rounded(Math.round),
};

const kindOf = (value: unknown): string => {
  if (isNothing(value)) return "invalid";
  const name = typeName(value);
  if (name === "list") return "slice";
  if (name === "boolean") return "bool";
  return name === "number" ? (Number.isInteger(value) ? "int" : "float64") : name;
};

/** Choosing values, and asking what they are. */
const flowFunctions: TemplateFunctions = {
  default: (otherwise, value) => (isTrue(value) ? value : otherwise),
  empty: (value) => !isTrue(value),
  coalesce: (...values) => values.find(isTrue),
  all: (...values) => values.every(isTrue),
  any: (...values) => values.some(isTrue),
  ternary: (yes, no, test) => (isTrue(test) ? yes : no),
  fail: (reason) => fail(text(reason)),
  kindOf,
  kindIs: (kind, value) => kindOf(value) === text(kind) || (kind === "float64" && typeof value === "number"),
  typeOf: kindOf,
  typeIs: (kind, value) => kindOf(value) === text(kind),
  deepEqual: same,
};

const toJson = (value: unknown): string => JSON.stringify(sorted(value));
const fromJson = (value: unknown): unknown => JSON.parse(text(value));

/** JSON and base64. */
const encodingFunctions: TemplateFunctions = {
  toJson,
  mustToJson: toJson,
  toRawJson: toJson,
  toPrettyJson: (value) => JSON.stringify(sorted(value), undefined, 2),
  /** A text that is no JSON gives nil; `mustFromJson` refuses it. */
  fromJson: (value) => {
    try {
      return fromJson(value);
    } catch {
      return null;
    }
  },
  mustFromJson: fromJson,
  b64enc: (value) => btoa(String.fromCharCode(...new TextEncoder().encode(text(value)))),
  b64dec: (value) =>
    new TextDecoder().decode(Uint8Array.from(atob(text(value)), (character) => character.charCodeAt(0))),
};

/** Go writes the keys of maps in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (isStruct(value) || !isMap(value)) return typeof value === "symbol" ? null : value;
  // own key: of the value
  return Object.fromEntries(sortedKeys(value).map((key) => [key, sorted(value[key])]));
}

const implemented: TemplateFunctions = {
  ...textFunctions,
  ...regexFunctions,
  ...listFunctions,
  ...dictFunctions,
  ...mathFunctions,
  ...flowFunctions,
  ...encodingFunctions,
};

/** `mustAppend` is `append`: both fail where they cannot do their work. */
const mustFunctions: TemplateFunctions = Object.fromEntries(
  Object.entries(implemented).map(([name, one]) => [`must${name.charAt(0).toUpperCase()}${name.slice(1)}`, one]),
);

/** Of a clock, of random numbers, of keys, of files, of other formats: templates that name them are good until they call them. */
const unsupported =
  "abbrev abbrevboth add1f addf adler32sum ago b32dec b32enc base bcrypt biggest buildCustomCert clean date dateInZone dateModify decryptAES derivePassword dir divf duration durationRound encryptAES env expandenv ext genCA genCAWithKey genPrivateKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey getHostByName hello htmlDate htmlDateInZone htpasswd initials isAbs maxf minf mulf mustDateModify mustToDate now osBase osClean osDir osExt osIsAbs randAlpha randAlphaNum randAscii randBytes randInt randNumeric semver semverCompare seq sha1sum sha256sum sha512sum shuffle splitn subf swapcase toDate typeIsLike unixEpoch urlJoin urlParse uuidv4 wrap wrapWith";
const unsupportedFunctions: TemplateFunctions = Object.fromEntries(
  unsupported.split(" ").map((name) => [name, () => fail(`function ${JSON.stringify(name)} is not supported`)]),
);

/** The functions of the sprig library. None reads a clock, random numbers, files or the environment. */
export const sprigFunctions: TemplateFunctions = { ...unsupportedFunctions, ...mustFunctions, ...implemented };
