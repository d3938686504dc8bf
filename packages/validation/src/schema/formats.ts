/** The formats of a schema that the API server enforces; it takes any value for others. */

/** The problem, in the API server's words; undefined when the value has the format. */
export function formatProblem(format: string, value: string | number): string | undefined {
  if (typeof value === "number") {
    const range = Object.hasOwn(ranges, format) ? ranges[format] : undefined;
    return range === undefined || (value >= range[0] && value <= range[1])
      ? undefined
      : `must be of type ${format}: "number"`;
  }
  const check = Object.hasOwn(checks, format) ? checks[format] : undefined;
  return check === undefined || check(value) ? undefined : `must be of type ${format}: ${JSON.stringify(value)}`;
}

const ranges: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2 ** 63), 2 ** 63],
  uint32: [0, 2 ** 32 - 1],
};

const matches = (pattern: RegExp) => (text: string) => pattern.test(text);

const hostLabel = /^[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?$/;

const checks: Readonly<Record<string, (text: string) => boolean>> = {
  byte: matches(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isDate(text),
  "date-time": (text) =>
    /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:?\d{2})$/.test(text) &&
    isDate(text.slice(0, 10)),
  duration: matches(/^-?(?:\d+(?:\.\d+)?\s*(?:ns|us|µs|ms|s|m|h|d|w))+$/),
  email: matches(/^[^@\s]+@[^@\s]+$/),
  hostname: (text) => text.length <= 255 && text.split(".").every((label) => hostLabel.test(label)),
  ipv4: matches(/^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}(?<!\.)$/),
  uri: (text) => URL.canParse(text),
  uuid: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i),
};

/** `2026-02-30` is none. */
function isDate(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date.parse takes it, as March 2.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}
