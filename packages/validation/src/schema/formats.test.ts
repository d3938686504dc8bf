import assert from "node:assert/strict";
import { test } from "node:test";
import { formatProblem } from "./formats.ts";

const cases: readonly (readonly [format: string, value: string, isGood: boolean])[] = [
  ["date", "2026-02-28", true],
  ["date", "2024-02-29", true],
  ["date", "2026-02-29", false],
  ["date", "2026-02-30", false],
  ["date", "2026-13-01", false],
  ["date-time", "2026-02-28T10:00:00Z", true],
  ["date-time", "2026-02-28T10:00:00.5+02:00", true],
  ["date-time", "2026-02-30T10:00:00Z", false],
  ["date-time", "2026-04-31T10:00:00Z", false],
  ["date-time", "yesterday", false],
  ["duration", "1h30m", true],
  ["duration", "soon", false],
  ["ipv4", "10.0.0.255", true],
  ["ipv4", "10.0.0.256", false],
  ["an unknown format", "anything", true],
];

for (const [format, value, isGood] of cases)
  test(`${value} ${isGood ? "is" : "is no"} ${format}`, () => {
    const expected = isGood ? undefined : `must be of type ${format}: ${JSON.stringify(value)}`;
    assert.equal(formatProblem(format, value), expected);
  });
