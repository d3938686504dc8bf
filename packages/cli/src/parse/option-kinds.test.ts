/** Values that each kind of option accepts and refuses, with the sentence that users read. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import type { OptionSpec } from "./definition.ts";
import {
  choice,
  count,
  duration,
  existing,
  flag,
  list,
  optionalCount,
  path,
  replicaCounts,
  text,
} from "./option-kinds.ts";

/** The value after all texts that are given, one after the other. */
function parsed<Value>({ initial, parse }: OptionSpec<Value>, ...given: readonly string[]): Value {
  return given.reduce<Value>((previous, one) => parse?.(one, previous) ?? previous, initial);
}

const replicas = replicaCounts("--replicas <counts>", "");
const bounded = count("-n <count>", "", { least: 2, most: 16, initial: 4 });
const open = optionalCount("-n <count>", "", { least: 1, most: Number.MAX_SAFE_INTEGER });

const taken: readonly (readonly [name: string, value: unknown, want: unknown])[] = [
  ["a flag that is not given", parsed(flag("-q", "")), false],
  ["a text that is not given", parsed(text("--name <name>", "")), undefined],
  ["a text", parsed(text("--name <name>", ""), "a"), "a"],
  ["a list in the order given", parsed(list("-f <file>", ""), "b", "a"), ["b", "a"]],
  ["the first of the choices", parsed(choice("-o <format>", "", ["table", "json"])), "table"],
  ["another choice", parsed(choice("-o <format>", "", ["table", "json"]), "json"), "json"],
  ["a relative path", parsed(path("-C <dir>", ""), "a/b"), resolve("a/b")],
  ["a count that is not given", parsed(bounded), 4],
  ["the least count", parsed(bounded, "2"), 2],
  ["the greatest count", parsed(bounded, "16"), 16],
  ["an optional count that is not given", parsed(open), undefined],
  ["seconds without a unit", parsed(duration("-t <time>", "", "30s"), "2"), 2_000],
  ["the duration that is shown", parsed(duration("-t <time>", "", "30s")), 30_000],
  ["milliseconds", parsed(duration("-t <time>", "", "30s"), "500ms"), 500],
  ["a part of a minute", parsed(duration("-t <time>", "", "30s"), "1.5m"), 90_000],
  ["hours", parsed(duration("-t <time>", "", "30s"), "2h"), 7_200_000],
  ["replicas of two services", parsed(replicas, "xds-server=2", "ca=16"), { "xds-server": 2, ca: 16 }],
];

const refused: readonly (readonly [name: string, spec: OptionSpec<unknown>, given: string, reason: RegExp])[] = [
  ["no choice", choice("-o <format>", "", ["table", "json"]), "xml", /^It is none of table, json\.$/],
  ["one too few", bounded, "1", /^It must be a whole number from 2 to 16\.$/],
  ["one too many", bounded, "17", /from 2 to 16/],
  ["a fraction", bounded, "2.5", /whole number/],
  ["a negative number", open, "-1", /^It must be a whole number, at least 1\.$/],
  ["no duration", duration("-t <time>", "", "30s"), "soon", /^It must be a duration such as 30s, 500ms or 2m\.$/],
  ["a negative duration", duration("-t <time>", "", "30s"), "-1s", /duration/],
  [
    "replicas of no service",
    replicas as OptionSpec<unknown>,
    "nats=2",
    /It is no SERVICE=COUNT with a service of ca, /,
  ],
  ["no replica", replicas as OptionSpec<unknown>, "ca=0", /and 1 to 16\.$/],
  ["seventeen replicas", replicas as OptionSpec<unknown>, "ca=17", /and 1 to 16\.$/],
  ["replicas without a count", replicas as OptionSpec<unknown>, "ca", /SERVICE=COUNT/],
];

describe("options", () => {
  for (const [name, value, want] of taken) it(`take ${name}`, () => assert.deepEqual(value, want));
  for (const [name, spec, given, reason] of refused)
    it(`refuse ${name}`, () => assert.throws(() => spec.parse?.(given, spec.initial), { message: reason }));

  it("take what there is of a file or directory, by its whole path", (t) => {
    const directory = mkdtempSync(join(tmpdir(), "flotilla-options-"));
    t.after(() => rmSync(directory, { recursive: true }));
    const file = join(directory, "a.yaml");
    writeFileSync(file, "");
    assert.equal(parsed(existing("-f <file>", "", "file"), file), file);
    assert.equal(parsed(existing("-C <dir>", "", "directory"), directory), directory);
    for (const [given, what, message] of [
      [directory, "file", `${directory} is not a file.`],
      [file, "directory", `${file} is not a directory.`],
      [`${file}.bak`, "file", `There is no file ${file}.bak.`],
    ] as const)
      assert.throws(() => parsed(existing("-f <path>", "", what), given), { message });
  });
});
