/** The kinds of options and operands that commands are defined with: each parses and checks its text. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { type ReplicaCounts, services } from "../layout.ts";
import type { OperandSpec, OptionSpec } from "./definition.ts";

export function flag(flags: string, help: string): OptionSpec<boolean> {
  return { flags, help, initial: false };
}

export function text(flags: string, help: string): OptionSpec<string | undefined> {
  return { flags, help, initial: undefined, parse: (given) => given };
}

export function textOr(flags: string, help: string, initial: string): OptionSpec<string> {
  return { flags, help, initial, parse: (given) => given };
}

/** May be given several times. */
export function list(flags: string, help: string): OptionSpec<readonly string[]> {
  return {
    flags,
    help: `${help}; may be repeated`,
    initial: [],
    parse: (given, previous = []) => [...previous, given],
  };
}

export function choice<const Choice extends string>(
  flags: string,
  help: string,
  [initial, ...others]: readonly [Choice, ...Choice[]],
): OptionSpec<Choice> {
  const choices = [initial, ...others];
  const parse = (given: string) => {
    const found = choices.find((known) => known === given);
    if (found === undefined) throw new InvalidArgumentError(`It is none of ${choices.join(", ")}.`);
    return found;
  };
  return { flags, help, initial, choices, parse };
}

/** Relative to the directory in which the command was started. */
export function path(flags: string, help: string): OptionSpec<string | undefined> {
  return { flags, help, initial: undefined, parse: (given) => resolve(given), values: "file" };
}

export function existing(flags: string, help: string, what: "file" | "directory"): OptionSpec<string | undefined> {
  const parse = (given: string) => {
    const found = statSync(given, { throwIfNoEntry: false });
    if (found === undefined) throw new InvalidArgumentError(`There is no ${what} ${resolve(given)}.`);
    if (found.isDirectory() !== (what === "directory"))
      throw new InvalidArgumentError(`${resolve(given)} is not a ${what}.`);
    return resolve(given);
  };
  return { flags, help, initial: undefined, parse, values: what };
}

/** A whole number within bounds. */
export function count(
  flags: string,
  help: string,
  { least, most, initial }: { readonly least: number; readonly most: number; readonly initial: number },
): OptionSpec<number> {
  return { flags, help, initial, parse: (given) => wholeNumber(given, least, most) };
}

export function optionalCount(
  flags: string,
  help: string,
  { least, most }: { readonly least: number; readonly most: number },
): OptionSpec<number | undefined> {
  return { flags, help, initial: undefined, parse: (given) => wholeNumber(given, least, most) };
}

/** `30s`, `500ms`, `2m`, `1h`; the value is in milliseconds. */
export function duration(flags: string, help: string, initial: string): OptionSpec<number> {
  return { flags, help, initial: durationMs(initial), initialText: initial, parse: durationMs };
}

/** As `duration`; undefined where it is not given. */
export function optionalDuration(flags: string, help: string): OptionSpec<number | undefined> {
  return { flags, help, initial: undefined, parse: durationMs };
}

export function required(name: string, help: string): OperandSpec<string> {
  return { syntax: `<${name}>`, help, initial: "" };
}

export function optional(name: string, help: string): OperandSpec<string | undefined> {
  return { syntax: `[${name}]`, help, initial: undefined };
}

export function any(name: string, help: string): OperandSpec<readonly string[]> {
  return { syntax: `[${name}...]`, help, initial: [] };
}

function wholeNumber(given: string, least: number, most: number): number {
  const value = Number(given);
  if (/^\d+$/.test(given) && value >= least && value <= most) return value;
  throw new InvalidArgumentError(
    most === Number.MAX_SAFE_INTEGER
      ? `It must be a whole number, at least ${least}.`
      : `It must be a whole number from ${least} to ${most}.`,
  );
}

const unitsMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

function durationMs(given: string): number {
  const [, amount, unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(given) ?? [];
  if (amount === undefined) throw new InvalidArgumentError("It must be a duration such as 30s, 500ms or 2m.");
  return Number(amount) * unitsMs[unit as keyof typeof unitsMs];
}

/** As many processes as one host is used for. */
const most = 16;

/** `--replicas SERVICE=COUNT`, of as many services as are named. */
export function replicaCounts(flags: string, help: string): OptionSpec<ReplicaCounts> {
  return { flags, help, initial: {}, initialText: "one of each", parse: addCount };
}

function addCount(text: string, previous: ReplicaCounts): ReplicaCounts {
  const [, word = "", digits = ""] = /^([^=]*)=(\d+)$/.exec(text) ?? [];
  const service = services.find((name) => name === word);
  const count = Number(digits);
  if (service === undefined || count < 1 || count > most)
    throw new InvalidArgumentError(`It is no SERVICE=COUNT with a service of ${services.join(", ")} and 1 to ${most}.`);
  return { ...previous, [service]: count };
}
