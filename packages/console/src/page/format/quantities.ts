/** Numbers, sizes and times as a reader scans them: short, of a fixed form, the exact value in a title beside. */

const byteUnits = ["B", "kB", "MB", "GB", "TB"];

/** `1234` → `1,234`. */
export function formatCount(value: number): string {
  return new Intl.NumberFormat("en", { maximumFractionDigits: 0 }).format(value);
}

/** Decimal units, three digits: `12.3 kB`. */
export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 999.5 && unit < byteUnits.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? value : threeDigits(value)} ${byteUnits[unit]}`;
}

/** Of milliseconds: `0.4 ms`, `87 ms`, `1.25 s`, `3 min 20 s`, `5 h 10 min`, `12 d 3 h`. */
export function formatDuration(ms: number): string {
  if (ms < 0) return `−${formatDuration(-ms)}`;
  if (ms < 999.5) return `${ms < 10 ? threeDigits(Math.round(ms * 10) / 10) : Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 59.5) return `${threeDigits(seconds)} s`;
  const whole = Math.round(seconds);
  return twoUnits(whole, [
    [86_400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ]);
}

/** How long ago an instant is: `now`, `12 s ago`, `3 h ago`; `in 5 d` for one to come. */
export function formatAge(at: number, now: number): string {
  const past = now - at;
  if (Math.abs(past) < 1000) return "now";
  const [seconds] = [Math.abs(past) / 1000];
  const [size, unit] =
    seconds >= 172_800 ? [86_400, "d"] : seconds >= 7200 ? [3600, "h"] : seconds >= 120 ? [60, "min"] : [1, "s"];
  const text = `${Math.floor(seconds / Number(size))} ${unit}`;
  return past > 0 ? `${text} ago` : `in ${text}`;
}

/** A share of 0 to 1: `12.5 %`. */
export function formatShare(share: number): string {
  const percent = share * 100;
  return `${percent > 0 && percent < 0.1 ? "<0.1" : threeDigits(percent)} %`;
}

/** The reader's day and time to the second: `2026-03-01 14:05:09`. */
export function formatTime(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** `one proxy`, `12 proxies`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

function threeDigits(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

function twoUnits(whole: number, units: readonly (readonly [number, string])[]): string {
  const at = units.findIndex(([size]) => whole >= size);
  const [size, unit] = units[at] ?? [1, "s"];
  const [nextSize, nextUnit] = units[at + 1] ?? [1, ""];
  const rest = Math.floor((whole % size) / nextSize);
  return `${Math.floor(whole / size)} ${unit}${nextUnit === "" || rest === 0 ? "" : ` ${rest} ${nextUnit}`}`;
}
