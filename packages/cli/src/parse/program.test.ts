/** Commander's program: values of options and operands, headings of the help, and what is wrong. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Command, command, define } from "./definition.ts";
import { any, count, flag, required, text, textOr } from "./option-kinds.ts";
import { buildProgram, type Chosen } from "./program.ts";

const paint = define({
  name: "paint",
  aliases: ["p"],
  group: "Houses:",
  summary: "paint a house",
  details: "With the colour that is given.",
  examples: [
    ["paint red", "the usual"],
    ["paint green --coats 2", "twice"],
  ],
  operands: { color: required("COLOR", "the colour"), walls: any("WALL", "only these") },
  options: {
    coats: count("--coats <N>", "how often", { least: 1, most: 9, initial: 1 }),
    brush: { ...text("--brush <NAME>", "which brush"), env: "BRUSH" },
    shine: { ...textOr("--shine <HOW>", "how bright", "matt"), group: "Looks:" },
    slowly: flag("--slowly", "with patience"),
  },
  exitCodes: { 3: "no paint is left" },
});
const old = define({
  ...{ name: "house old", group: "Houses:", summary: "as others did it", examples: [], operands: {} },
  options: { size: text("--size <N>", "how large") },
  unknownOptions: "warn",
});
const load: Command["load"] = () => assert.fail("it is not loaded before it is run");
const commands = [paint, old].map((one) => command(one, load as never) as Command);

function parse(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  let [out, err] = ["", ""];
  const chosen: Chosen[] = [];
  const terminal = {
    print: () => assert.fail("help is written, not printed"),
    write: (written: string) => {
      out += written;
    },
    warn: (written: string) => {
      err += `${written}\n`;
    },
    paint: (_: string, given: string) => given,
    step: () => undefined,
    isInteractive: false,
  };
  const groups = { house: "houses as they were" };
  const program = buildProgram({ commands, groups, env, terminal, onChosen: (one) => chosen.push(one) });
  let exitCode: number | undefined;
  try {
    program.parse(args, { from: "user" });
  } catch (error) {
    ({ exitCode } = error as { exitCode: number });
  }
  const [only] = chosen;
  return { out, err, exitCode, name: only?.command.definition.name, options: only?.options, operands: only?.operands };
}

describe("the values of a command line", () => {
  const usual = { coats: 1, brush: undefined, shine: "matt", slowly: false };
  it("are those of its options and operands, the others as they are at first", () => {
    const { name, options, operands, exitCode } = parse(["paint", "red", "north", "south", "--coats", "3", "--slowly"]);
    assert.deepEqual([name, exitCode], ["paint", undefined]);
    assert.deepEqual(options, { ...usual, coats: 3, slowly: true });
    assert.deepEqual(operands, { color: "red", walls: ["north", "south"] });
    assert.deepEqual(parse(["p", "red"]).options, usual);
  });
  it("come from the environment where an option is not given, and a variable is not empty", () => {
    const brush = (args: readonly string[], env: NodeJS.ProcessEnv) =>
      parse(["paint", "red", ...args], env).options?.["brush"];
    assert.equal(brush([], { BRUSH: "flat" }), "flat");
    assert.equal(brush(["--brush", "round"], { BRUSH: "flat" }), "round");
    assert.equal(brush([], { BRUSH: "" }), undefined);
  });
  it("may have unknown options beside them where a command takes those, with a warning each", () => {
    const { name, options, err } = parse(["house", "old", "--size", "2", "--sise=3", "--colour", "red"]);
    assert.deepEqual([name, options], ["house old", { size: "2" }]);
    assert.equal(
      err,
      "flotilla: unknown flag --sise is ignored; did you mean --size?\nflotilla: unknown flag --colour is ignored\n",
    );
  });
});

describe("the help", () => {
  it("of a command has its options by their headings, with values and variables, its examples and exit codes", () => {
    const { out, exitCode } = parse(["paint", "--help"]);
    assert.equal(exitCode, 0);
    assert.match(
      out,
      /^Usage: flotilla paint\|p \[options\] <COLOR> \[WALL\.\.\.\]\n\npaint a house\n\nWith the colour/,
    );
    const [, own = "", looks = ""] = out.split(/^(?:Options|Looks):$/m);
    assert.match(own, /--coats <N> +how often \(default: 1\)\n +--brush <NAME> +which brush \(env: BRUSH\)\n/);
    assert.doesNotMatch(own, /--shine/);
    assert.match(looks, /--shine <HOW> +how bright \(default: "matt"\)/);
    assert.match(
      out,
      /^Examples:\n {2}flotilla paint red {14}the usual\n {2}flotilla paint green --coats 2 {2}twice$/m,
    );
    assert.match(out, /^Exit codes:\n {2}3 {3}no paint is left$/m);
  });
  it("of all has commands and groups by their headings, and the general exit codes", () => {
    const { out } = parse(["--help"]);
    assert.match(out, /^Houses:\n {2}paint\|p .* +paint a house\n {2}house +houses as they were$/m);
    assert.match(out, /^Exit codes:\n {2}0 {3}done/m);
  });
  it("of a group has its commands", () => {
    assert.match(parse(["house", "--help"]).out, /^Houses:\n {2}old .*as others did it$/m);
    assert.doesNotMatch(parse(["house", "old", "--help"]).out, /Examples|Exit codes/);
  });
});

describe("what is wrong", () => {
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [
      ["paint"],
      /^flotilla: missing required argument 'COLOR'\n.*Usage: flotilla paint\|p .*\nSee: flotilla paint --help\n$/s,
    ],
    [["paint", "red", "--coats", "0"], /--coats <N>' argument '0' is invalid\. It must be a whole number from 1 to 9/],
    [["paint", "red", "--sheen", "x"], /unknown option '--sheen'\n\(Did you mean --shine\?\)/],
    [["house"], /Usage: flotilla house COMMAND \[options\]/],
  ];
  for (const [args, says] of cases)
    it(`is written for ${args.join(" ")}, with the usage`, () => {
      const { out, err, exitCode, name } = parse(args);
      assert.deepEqual([out, exitCode, name], ["", 1, undefined]);
      assert.match(err, says);
    });
});
