/** Builds commander's program from the definitions of the commands. */

import { readFileSync } from "node:fs";
import { nearestName } from "@flotilla/runtime/settings";
import { Command as Commander, Option } from "commander";
import type { Command, CommandDefinition, OptionSpec } from "./definition.ts";
import { exitCodes, type Terminal } from "./terminal.ts";

/** A command with the values that the command line gives it. */
export interface Chosen {
  readonly command: Command;
  readonly options: Readonly<Record<string, unknown>>;
  readonly operands: Readonly<Record<string, unknown>>;
}

interface ProgramOptions {
  readonly commands: readonly Command[];
  /** Sentences for words that only group commands: `ca`. */
  readonly groups: Readonly<Record<string, string>>;
  readonly env: NodeJS.ProcessEnv;
  readonly terminal: Terminal;
  readonly onChosen: (chosen: Chosen) => void;
}

/** Its `parse` calls `onChosen`, or throws CommanderError after it wrote help or what is wrong. */
export function buildProgram(options: ProgramOptions): Commander {
  const { terminal, commands, groups } = options;
  const program = new Commander("flotilla")
    .usage("COMMAND [options]")
    .helpCommand("help [COMMAND]", "show the help of a command")
    .helpOption("-h, --help", "show this help")
    .commandsGroup("This program:")
    .exitOverride()
    .configureHelp({ sortOptions: false, showGlobalOptions: false })
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.warn(text.trimEnd()),
      outputError: (text, write) => write(text.replace(/^error: /, "flotilla: ")),
    })
    .version(`flotilla ${packageVersion()}`, "--version", "show the version")
    .addHelpText("after", exitCodeText(undefined));
  showUsageAfterError(program);
  const parents = new Map<string, Commander>();
  for (const command of commands) {
    const [first = "", second] = command.definition.name.split(" ");
    let parent = program;
    if (second !== undefined) {
      parent = parents.get(first) ?? addGroup(program, first, command.definition.group, groups[first] ?? "");
      parents.set(first, parent);
    }
    addCommand(parent, command, second ?? first, options);
  }
  return program;
}

function addGroup(program: Commander, name: string, heading: string, summary: string): Commander {
  const group = program
    .command(name)
    .description(summary)
    .helpGroup(heading)
    .usage("COMMAND [options]")
    .helpCommand(false);
  showUsageAfterError(group);
  return group;
}

function addCommand(
  parent: Commander,
  command: Command,
  word: string,
  { env, terminal, onChosen }: ProgramOptions,
): void {
  const { definition } = command;
  const { aliases = [], group, summary, operands } = definition;
  const built = parent
    .command(word)
    .aliases([...aliases])
    .summary(summary)
    .description([summary, definition.details].filter((part) => part !== undefined).join("\n\n"))
    .helpGroup(group)
    .addHelpText("after", examplesText(definition));
  if (definition.exitCodes !== undefined) built.addHelpText("after", exitCodeText(definition.exitCodes));
  for (const { syntax, help } of Object.values(operands)) built.argument(syntax, help);
  for (const spec of Object.values(definition.options)) built.addOption(optionOf(spec));
  showUsageAfterError(built);
  if (definition.unknownOptions === "warn") built.allowUnknownOption().allowExcessArguments();
  built.action(() => {
    if (definition.unknownOptions === "warn") warnOfUnknown(built, terminal);
    const given = built.opts<Record<string, unknown>>();
    const values = Object.entries(definition.options).map(([key, spec]) => [
      key,
      built.getOptionValueSource(key) === "cli" ? given[key] : fromEnvironment(spec, env),
    ]);
    const words = Object.keys(operands).map((key, index) => [key, built.processedArgs[index]]);
    onChosen({ command, options: Object.fromEntries(values), operands: Object.fromEntries(words) });
  });
}

/** Names the nearest option that there is, if it is near. */
function warnOfUnknown(command: Commander, terminal: Terminal): void {
  const known = command.options.flatMap(({ long }) => (long === undefined ? [] : [long]));
  for (const word of command.args) {
    const [name = ""] = word.split("=", 1);
    if (!name.startsWith("-")) continue;
    const nearest = nearestName(name, known);
    const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
    terminal.warn(`flotilla: unknown flag ${name} is ignored${hint}`);
  }
}

function optionOf({ flags, help, initial, initialText, choices, parse, group, env }: OptionSpec<unknown>): Option {
  const notes = [...(choices === undefined ? [] : [choices.join("|")]), ...(env === undefined ? [] : [`env: ${env}`])];
  const option = new Option(flags, notes.length === 0 ? help : `${help} (${notes.join("; ")})`);
  if (parse !== undefined) option.argParser(parse);
  option.helpGroup(group ?? "Options:");
  return typeof initial === "string" || typeof initial === "number" ? option.default(initial, initialText) : option;
}

function fromEnvironment({ env: name, parse, initial }: OptionSpec<unknown>, env: NodeJS.ProcessEnv): unknown {
  const given = name === undefined ? undefined : env[name];
  return given === undefined || given === "" || parse === undefined ? initial : parse(given, initial);
}

function showUsageAfterError(command: Commander): void {
  const usage = command.createHelp().commandUsage(command);
  // Without the short name behind the bar, so that it can be pasted into a shell.
  const words = (usage.split(/ (?=[[<A-Z])/, 1)[0] ?? usage).replaceAll(/\|[a-z]+/g, "");
  command.showHelpAfterError(`Usage: ${usage}\nSee: ${words} --help`);
}

function examplesText({ examples }: CommandDefinition): string {
  if (examples.length === 0) return "";
  const widest = Math.max(...examples.map(([line]) => line.length));
  return ["", "Examples:", ...examples.map(([line, purpose]) => `  flotilla ${line.padEnd(widest)}  ${purpose}`)].join(
    "\n",
  );
}

function exitCodeText(own: CommandDefinition["exitCodes"]): string {
  const lines = Object.entries(own ?? exitCodes).map(([code, meaning]) => `  ${code.padEnd(2)}  ${meaning}`);
  return ["", "Exit codes:", ...lines].join("\n");
}

/** The version of the package, beside every command because help shows it. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  };
  return version;
}
