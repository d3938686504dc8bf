/** Bounds of ports, durations, shares, addresses and socket paths. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findings } from "./shared.fixture.ts";
import {
  addressProblems,
  durationMs,
  durationProblems,
  nonNegativeProblems,
  percentProblems,
  portProblems,
  portTextProblems,
  rangeProblems,
  shareProblems,
  socketProblems,
} from "./values.ts";

describe("a duration", () => {
  const cases: readonly (readonly [text: string, ms: number | undefined])[] = [
    ["0", 0],
    ["1s", 1_000],
    ["1.5s", 1_500],
    [".5s", 500],
    ["1.s", 1_000],
    ["1h2m3s", 3_723_000],
    ["10ms", 10],
    ["5us", 0.005],
    ["5µs", 0.005],
    ["5ns", 0.000005],
    ["-1s", -1_000],
    ["-1m1s", -61_000],
    ["", undefined],
    ["-", undefined],
    ["1", undefined],
    ["s", undefined],
    ["1s ", undefined],
    ["1x", undefined],
    ["1s2", undefined],
    [".s", undefined],
    [`${"1".repeat(63)}s`, Number(`${"1".repeat(63)}e3`)],
    [`${"1".repeat(64)}s`, undefined],
  ];
  for (const [text, ms] of cases)
    it(`${JSON.stringify(text)} has ${ms} ms`, () => {
      const found = durationMs(text);
      if (ms === undefined || found === undefined) assert.equal(found, ms);
      else assert.ok(Math.abs(found - ms) <= 1e-9 * Math.max(1, Math.abs(ms)), `${found}`);
    });

  const bounds: readonly (readonly [value: unknown, minMs: number | undefined, expected: readonly string[]])[] = [
    [undefined, undefined, []],
    ["1s", undefined, []],
    ["1ms", undefined, []],
    ["0s", undefined, ["x 0s is less than 1ms"]],
    ["0.5ms", undefined, ["x 0.5ms is less than 1ms"]],
    ["0s", 0, []],
    ["-1s", 0, ["x -1s is less than 0ms"]],
    ["1.5ms", undefined, ["x 1.5ms is more precise than a millisecond"]],
    ["0.1s", undefined, []],
    ["2562047h", undefined, []],
    ["2562048h", undefined, ["x 2562048h is more than 292 years, which Envoy cannot count"]],
    ["soon", undefined, ['x "soon" is no duration such as 1.5s, 10m or 24h']],
  ];
  for (const [value, minMs, expected] of bounds)
    it(`${value} of at least ${minMs ?? 1} ms: ${expected[0] ?? "is good"}`, () =>
      assert.deepEqual(
        findings((at) => durationProblems(at, minMs), value),
        expected,
      ));
});

type Rule = Parameters<typeof findings>[0];
const rules: readonly (readonly [
  name: string,
  rule: Rule,
  cases: readonly (readonly [value: unknown, problem: string | undefined])[],
])[] = [
  [
    "a port",
    portProblems,
    [
      [1, undefined],
      [65_535, undefined],
      [0, "0 is no port number between 1 and 65535"],
      [65_536, "65536 is no port number between 1 and 65535"],
      [-1, "-1 is no port number between 1 and 65535"],
      [undefined, "0 is no port number between 1 and 65535"],
    ],
  ],
  [
    "a port as text",
    portTextProblems,
    [
      ["1", undefined],
      ["65535", undefined],
      ["0", '"0" is no port number between 1 and 65535'],
      ["65536", '"65536" is no port number between 1 and 65535'],
      ["80 ", '"80 " is no port number between 1 and 65535'],
      ["http", '"http" is no port number between 1 and 65535'],
    ],
  ],
  [
    "a percentage",
    percentProblems,
    [
      [0, undefined],
      [100, undefined],
      [-1, "percentage -1 is not in range 0..100"],
      [101, "percentage 101 is not in range 0..100"],
    ],
  ],
  [
    "a share",
    shareProblems,
    [
      [{ value: 0 }, undefined],
      [{}, undefined],
      [undefined, undefined],
      [{ value: 0.0001 }, undefined],
      [{ value: 100 }, undefined],
      [{ value: 0.00009 }, "percentage 0.00009 is neither 0 nor in range 0.0001..100"],
      [{ value: 100.1 }, "percentage 100.1 is neither 0 nor in range 0.0001..100"],
      [{ value: -1 }, "percentage -1 is neither 0 nor in range 0.0001..100"],
    ],
  ],
  [
    "a count",
    nonNegativeProblems,
    [
      [0, undefined],
      [1, undefined],
      [-1, "must not be negative, is -1"],
    ],
  ],
  [
    "an address",
    addressProblems,
    [
      ["10.0.0.1", undefined],
      ["fd00::1", undefined],
      ["10.0.0.0/8", '"10.0.0.0/8" is no IP address'],
      ["", '"" is no IP address'],
    ],
  ],
  [
    "a range",
    rangeProblems,
    [
      ["10.0.0.1", undefined],
      ["10.0.0.0/8", undefined],
      ["10.0.0.0/33", '"10.0.0.0/33" is neither an IP address nor a range in CIDR form'],
      ["a", '"a" is neither an IP address nor a range in CIDR form'],
    ],
  ],
  [
    "a socket",
    socketProblems,
    [
      ["unix:///run/a", undefined],
      ["unix://@a", undefined],
      ["unix://", "a socket has a path"],
      ["unix://run/a", '"run/a" is no absolute path of a socket'],
      ["unix:///run/", '"/run/" is no absolute path of a socket'],
      [`unix:///${"a".repeat(106)}`, undefined],
      [`unix:///${"a".repeat(107)}`, "the path of a socket has at most 107 bytes, this one has 108"],
      [`unix://@${"é".repeat(54)}`, "the path of a socket has at most 107 bytes, this one has 109"],
    ],
  ],
];
for (const [name, rule, cases] of rules)
  describe(name, () => {
    for (const [value, problem] of cases)
      it(`${JSON.stringify(value)?.slice(0, 30)}: ${problem ?? "is good"}`, () =>
        assert.deepEqual(findings(rule, value), problem === undefined ? [] : [`x ${problem}`]));
  });
