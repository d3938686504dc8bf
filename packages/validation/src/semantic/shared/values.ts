/** Ports, durations, shares, addresses and socket paths: bounds that istiod and Envoy set and no schema states. */
import { isIpAddress, isObject, ownValue, parseCidr } from "@flotilla/model";
import type { Problem } from "../../problem.ts";
import { type Field, isSet, numberOf, refuseIf, textOf } from "./field.ts";

/** An absent port is 0, which is none. */
export function portProblems(port: Field): readonly Problem[] {
  const number = numberOf(port);
  return refuseIf(number < 1 || number > 65_535, port, `${number} is no port number between 1 and 65535`);
}

/** A port as text, as in AuthorizationPolicies. */
export function portTextProblems(port: Field): readonly Problem[] {
  const text = textOf(port);
  const isPort = /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
  return refuseIf(!isPort, port, `${JSON.stringify(text)} is no port number between 1 and 65535`);
}

const maxDurationLength = 64;
const unitMs: Readonly<Record<string, number>> = {
  ...{ ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1e3, m: 60e3, h: 3600e3 },
};

/** Milliseconds of a duration in Go's text form; undefined when it is none. */
export function durationMs(text: string): number | undefined {
  if (text === "0") return 0;
  if (text.length > maxDurationLength) return undefined;
  const isNegative = text.startsWith("-");
  const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;
  part.lastIndex = isNegative ? 1 : 0;
  let sum: number | undefined;
  while (part.lastIndex < text.length) {
    const [, amount, unit] = part.exec(text) ?? [];
    if (amount === undefined || unit === undefined) return undefined;
    sum = (sum ?? 0) + Number(amount) * (ownValue(unitMs, unit) ?? 0);
  }
  return isNegative && sum !== undefined ? -sum : sum;
}

/** Envoy counts durations in nanoseconds of 63 bits. */
const maxDurationMs = 9_223_372_036_000;

/** Nothing for an absent duration. `minMs` is 1 where 0 does not mean that a timeout is off. */
export function durationProblems(duration: Field, minMs = 1): readonly Problem[] {
  if (!isSet(duration)) return [];
  const text = textOf(duration);
  const ms = durationMs(text);
  if (ms === undefined)
    return refuseIf(true, duration, `${JSON.stringify(text)} is no duration such as 1.5s, 10m or 24h`);
  if (ms < minMs) return refuseIf(true, duration, `${text} is less than ${minMs}ms`);
  if (ms > maxDurationMs) return refuseIf(true, duration, `${text} is more than 292 years, which Envoy cannot count`);
  const isWhole = Math.abs(ms - Math.round(ms)) < 1e-7 * Math.max(1, Math.abs(ms) * 1e-6);
  return refuseIf(!isWhole, duration, `${text} is more precise than a millisecond`);
}

/** 0 to 100. */
export function percentProblems(percent: Field): readonly Problem[] {
  const value = numberOf(percent);
  return refuseIf(value < 0 || value > 100, percent, `percentage ${value} is not in range 0..100`);
}

/** A share of requests, `{ value: 0.5 }`: Envoy counts in millionths. */
export function shareProblems(percent: Field): readonly Problem[] {
  const value = isObject(percent.value) ? numberOf({ value: percent.value["value"], path: "" }) : 0;
  const isShare = value === 0 || (value >= 0.0001 && value <= 100);
  return refuseIf(!isShare, percent, `percentage ${value} is neither 0 nor in range 0.0001..100`);
}

export function nonNegativeProblems(number: Field): readonly Problem[] {
  return refuseIf(numberOf(number) < 0, number, `must not be negative, is ${numberOf(number)}`);
}

export function addressProblems(address: Field): readonly Problem[] {
  const text = textOf(address);
  return refuseIf(!isIpAddress(text), address, `${JSON.stringify(text)} is no IP address`);
}

/** An address or a range in CIDR form. */
export function rangeProblems(range: Field): readonly Problem[] {
  const text = textOf(range);
  const isRange = parseCidr(text) !== undefined;
  return refuseIf(!isRange, range, `${JSON.stringify(text)} is neither an IP address nor a range in CIDR form`);
}

/** Where addresses of Unix domain sockets begin. */
export const unixPrefix = "unix://";

/** Of Linux, one byte less than the room for the path. */
const maxSocketPathBytes = 107;

/** `unix:///path/to/socket`, or `unix://@name` for an abstract one. The caller saw the prefix. */
export function socketProblems(address: Field): readonly Problem[] {
  const path = textOf(address).slice(unixPrefix.length);
  if (path === "") return refuseIf(true, address, "a socket has a path");
  const bytes = new TextEncoder().encode(path).length;
  const isFile = path.startsWith("@") || (path.startsWith("/") && !path.endsWith("/"));
  return [
    ...refuseIf(!isFile, address, `${JSON.stringify(path)} is no absolute path of a socket`),
    ...refuseIf(
      bytes > maxSocketPathBytes,
      address,
      `the path of a socket has at most ${maxSocketPathBytes} bytes, this one has ${bytes}`,
    ),
  ];
}
