/** The kinds of settings: how the text of each is read and what it may be. */
import type { Setting, SettingOptions } from "./settings.ts";

interface Range {
  readonly min?: number;
  readonly max?: number;
}

/** Any text; undefined or the default when the variable is not set. */
export function text<T extends string | undefined>(options: SettingOptions<T>): Setting<string | T> {
  return { ...options, bounds: "text", parse: (value) => value };
}

/** `true` or `false`. */
export function flag(options: SettingOptions<boolean>): Setting<boolean> {
  return {
    ...options,
    bounds: "true or false",
    parse: (value) => {
      if (/^(true|t|1|yes|on)$/i.test(value)) return true;
      if (/^(false|f|0|no|off)$/i.test(value)) return false;
      throw new Error("is neither true nor false");
    },
  };
}

/** A whole number within bounds. */
export function integer<T extends number | undefined>(options: SettingOptions<T> & Range): Setting<number | T> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER, ...rest } = options;
  const bounds =
    max === Number.MAX_SAFE_INTEGER ? `a whole number from ${min}` : `a whole number from ${min} to ${max}`;
  return {
    ...rest,
    bounds,
    parse: (value) => {
      if (!/^[+-]?\d+$/.test(value)) throw new Error(`is not ${bounds}`);
      return within(Number(value), min, max, bounds);
    },
  };
}

/** 0 takes any free port. */
export function port<T extends number | undefined>(options: SettingOptions<T>): Setting<number | T> {
  return { ...integer({ ...options, min: 0, max: 65_535 }), bounds: "a port from 0 (any free one) to 65535" };
}

/** A number within bounds. */
export function decimal(options: SettingOptions<number> & Range): Setting<number> {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, ...rest } = options;
  const bounds = `a number from ${min} to ${max}`;
  return {
    ...rest,
    bounds,
    parse: (value) => {
      if (value.trim() === "" || Number.isNaN(Number(value))) throw new Error(`is not ${bounds}`);
      return within(Number(value), min, max, bounds);
    },
  };
}

const unitsMs: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** In milliseconds; written as `250ms`, `1.5s`, `10m`, `24h`, `1h30m`. */
export function duration<T extends number | undefined>(options: SettingOptions<T> & Range): Setting<number | T> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER, ...rest } = options;
  const bounds = "a duration such as 250ms, 1.5s, 10m, 1h30m";
  return {
    ...rest,
    bounds,
    show: (ms) => (ms === undefined ? "" : durationText(ms)),
    parse: (value) => {
      if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(value)) throw new Error(`is not ${bounds}`);
      const parts = [...value.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/gy)];
      const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitsMs.get(unit ?? "") ?? 0), 0);
      const to = max === Number.MAX_SAFE_INTEGER ? "" : ` to ${durationText(max)}`;
      return within(ms, min, max, `a duration from ${durationText(min)}${to}`);
    },
  };
}

/** As `duration` reads it: `24h`, `1h30m`, `1.5s`, `250ms`. */
function durationText(ms: number): string {
  if (ms < 1_000) return ms === 0 ? "0s" : `${ms}ms`;
  const [hours, minutes, seconds] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, (ms % 60_000) / 1_000];
  return [hours > 0 && `${hours}h`, minutes > 0 && `${minutes}m`, seconds > 0 && `${seconds}s`]
    .filter(Boolean)
    .join("");
}

/** One of the listed values. */
export function oneOf<T extends string>(options: SettingOptions<T> & { readonly values: readonly T[] }): Setting<T> {
  const { values, ...rest } = options;
  const bounds = `one of ${values.join(", ")}`;
  return {
    ...rest,
    bounds,
    parse: (value) => {
      const found = values.find((allowed) => allowed === value);
      if (found === undefined) throw new Error(`is not ${bounds}`);
      return found;
    },
  };
}

/** Separated by commas; blanks around them do not count. */
export function list(options: SettingOptions<readonly string[]>): Setting<readonly string[]> {
  const parse = (value: string): readonly string[] =>
    value
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "");
  return { ...options, bounds: "texts separated by commas", parse };
}

/** Separated by commas, each one of `values`. */
export function listOf<T extends string>(
  options: SettingOptions<readonly T[]> & { readonly values: readonly T[] },
): Setting<readonly T[]> {
  const bounds = `texts separated by commas, each one of ${options.values.join(", ")}`;
  const parse = (value: string): readonly T[] =>
    list({ ...options, default: [] })
      .parse(value)
      .map((name) => {
        const found = options.values.find((one) => one === name);
        if (found === undefined) throw new Error(`${name} is not one of ${options.values.join(", ")}`);
        return found;
      });
  return { ...options, bounds, parse };
}

/** Texts by name, as a JSON object. */
export function texts(
  options: SettingOptions<Readonly<Record<string, string>>>,
): Setting<Readonly<Record<string, string>>> {
  const bounds = "a JSON object of texts";
  return { ...options, bounds, show: (value) => JSON.stringify(value), parse: (text) => parseTexts(text, bounds) };
}

function parseTexts(text: string, bounds: string): Readonly<Record<string, string>> {
  const refused = new Error(`is not ${bounds}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which may be secret.
    throw refused;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw refused;
  if (!Object.values(value).every((one) => typeof one === "string")) throw refused;
  return value as Readonly<Record<string, string>>;
}

/** An absolute URL with one of the schemes. */
export function url<T extends string | undefined>(
  options: SettingOptions<T> & { readonly schemes: readonly string[] },
): Setting<string | T> {
  const { schemes, ...rest } = options;
  const bounds = `an address such as ${schemes.map((scheme) => `${scheme}://host:port`).join(" or ")}`;
  return {
    ...rest,
    bounds,
    parse: (value) => {
      if (!URL.canParse(value) || !schemes.includes(new URL(value).protocol.slice(0, -1)))
        throw new Error(`is not ${bounds}`);
      return value;
    },
  };
}

function within(value: number, min: number, max: number, bounds: string): number {
  if (value < min || value > max) throw new Error(`is not ${bounds}`);
  return value;
}
