/** Go's fmt.Sprintf, as far as templates use it: %s %v %q %d %t %f %g %e %x %X %o %b %c %U %T %%, with flags, width, precision. */
import { formatNumber, formatValue, isNothing, isTrue, typeName } from "./values.ts";

const directive = /%([-+# 0]*)(\*|[1-9]\d*)?(?:\.(\d+))?([a-zA-Z%])/g;

export function sprintf(format: string, ...values: readonly unknown[]): string {
  let next = 0;
  const text = format.replaceAll(
    directive,
    (_, flags: string, width: string | undefined, precision: string | undefined, verb: string) => {
      if (verb === "%") return "%";
      const columns = width === "*" ? Number(values[next++]) : Number(width ?? 0);
      if (next >= values.length) return `%!${verb}(MISSING)`;
      const shown = formatOne(verb, values[next++], flags, precision === undefined ? undefined : Number(precision));
      return pad(shown, columns, flags, typeof values[next - 1] === "number");
    },
  );
  if (next >= values.length) return text;
  const extra = values.slice(next).map((value) => `${typeName(value)}=${formatValue(value)}`);
  return `${text}%!(EXTRA ${extra.join(", ")})`;
}

function formatOne(verb: string, value: unknown, flags: string, precision: number | undefined): string {
  const format = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  const shown = format?.(value, precision);
  if (shown === undefined) return `%!${verb}(${typeName(value)}=${formatValue(value)})`;
  return flags.includes("+") && typeof value === "number" && value >= 0 ? `+${shown}` : shown;
}

type Format = (value: unknown, precision: number | undefined) => string | undefined;

const cut = (text: string, precision: number | undefined): string =>
  precision === undefined ? text : [...text].slice(0, precision).join("");
const ofNumber = (format: (value: number, precision: number | undefined) => string): Format => {
  return (value, precision) =>
    typeof value === "number" ? format(value, precision) : isZero(value) ? format(0, precision) : undefined;
};
const inRadix = (radix: number): Format => ofNumber((value) => Math.trunc(value).toString(radix));

const verbs: Readonly<Record<string, Format>> = {
  v: (value, precision) => (typeof value === "string" ? cut(value, precision) : formatValue(value)),
  s: (value, precision) =>
    typeof value === "number" || typeof value === "boolean" ? undefined : cut(formatValue(value), precision),
  q: (value) => (typeof value === "number" ? `'${String.fromCodePoint(value)}'` : JSON.stringify(formatValue(value))),
  d: (value) =>
    typeof value === "number" && !Number.isInteger(value) ? undefined : ofNumber(formatNumber)(value, undefined),
  t: (value) => (typeof value === "boolean" || isNothing(value) ? String(isTrue(value)) : undefined),
  f: ofNumber((value, precision = 6) => value.toFixed(precision)),
  g: ofNumber((value, precision) =>
    precision === undefined ? formatNumber(value) : String(Number(value.toPrecision(precision))),
  ),
  e: ofNumber((value, precision = 6) => value.toExponential(precision).replace(/e([+-])(\d)$/, "e$10$2")),
  x: (value) => (typeof value === "string" ? hex(value) : inRadix(16)(value, undefined)),
  X: (value) => (typeof value === "string" ? hex(value) : inRadix(16)(value, undefined))?.toUpperCase(),
  o: inRadix(8),
  b: inRadix(2),
  c: ofNumber((value) => String.fromCodePoint(value)),
  U: ofNumber((value) => `U+${value.toString(16).toUpperCase().padStart(4, "0")}`),
  T: (value) => typeName(value),
};

function isZero(value: unknown): boolean {
  return typeof value === "symbol";
}

function hex(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function pad(text: string, width: number, flags: string, isNumber: boolean): string {
  if (flags.includes("-")) return text.padEnd(width);
  if (!flags.includes("0") || !isNumber) return text.padStart(width);
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  return sign + text.slice(sign.length).padStart(width - sign.length, "0");
}
