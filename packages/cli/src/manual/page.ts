/** Manual pages in the man macros, from the definitions of the commands. Pure. */
import { type CommandDefinition, type OptionSpec, optionText } from "../parse/definition.ts";
import { exitCodes } from "../parse/terminal.ts";

export interface ManualOptions {
  readonly version: string;
  readonly commands: readonly CommandDefinition[];
}

/** Of one command: `flotilla-ca-rotate(1)`. */
export function commandPage(definition: CommandDefinition, { version }: ManualOptions): string {
  const { name, summary, details, operands, options, examples, exitCodes: own } = definition;
  const title = pageName(name);
  const syntax = Object.values(operands).map((operand) => ` ${operand.syntax}`);
  return page([
    header(title, version),
    section("NAME", `${escaped(title)} \\- ${escaped(summary)}`),
    section("SYNOPSIS", `.B flotilla ${escaped(name)}\n${escaped(`[options]${syntax.join("")}`)}`),
    ...(details === undefined ? [] : [section("DESCRIPTION", escaped(details))]),
    ...list(
      "ARGUMENTS",
      Object.values(operands).map(({ syntax: term, help }) => [term, help]),
    ),
    ...list(
      "OPTIONS",
      Object.values(options).map((option) => [option.flags, optionText(option)]),
    ),
    exitSection(own ?? exitCodes),
    ...list("ENVIRONMENT", Object.values(options).flatMap(environmentOf)),
    ...(examples.length === 0
      ? []
      : [section("EXAMPLES", examples.map(([line, purpose]) => tagged(`flotilla ${line}`, purpose)).join("\n"))]),
    section("SEE ALSO", ".BR flotilla (1)"),
  ]);
}

/** `flotilla(1)`: all commands by their headings. */
export function overviewPage({ version, commands }: ManualOptions): string {
  const headings = [...new Set(commands.map(({ group }) => group))];
  const lists = headings.map((heading) => {
    const own = commands.filter(({ group }) => group === heading);
    const rows = own.map(({ name, summary }) => tagged(name, summary));
    return [`.SS ${escaped(heading.replace(/:$/, ""))}`, ...rows].join("\n");
  });
  return page([
    header("flotilla", version),
    section("NAME", "flotilla \\- service\\-mesh control plane"),
    section("SYNOPSIS", ".B flotilla\nCOMMAND [options]"),
    section("COMMANDS", lists.join("\n")),
    exitSection(exitCodes),
    section("SEE ALSO", commands.map(({ name }) => `.BR ${escaped(pageName(name))} (1)`).join(",\n")),
  ]);
}

/** `flotilla-ca-rotate` of `ca rotate`. */
export function pageName(command: string): string {
  return `flotilla-${command.replaceAll(" ", "-")}`;
}

function header(title: string, version: string): string {
  return `.TH "${escaped(title.toUpperCase())}" 1 "" "flotilla ${escaped(version)}" "flotilla"`;
}

function section(name: string, body: string): string {
  return `.SH ${name}\n${body}`;
}

function list(name: string, rows: readonly (readonly [string, string])[]): readonly string[] {
  return rows.length === 0 ? [] : [section(name, rows.map(([term, text]) => tagged(term, text)).join("\n"))];
}

function tagged(term: string, text: string): string {
  return `.TP\n.B ${escaped(term)}\n${escaped(text)}`;
}

function exitSection(codes: Readonly<Record<string, string>>): string {
  return list("EXIT STATUS", Object.entries(codes)).join("");
}

function environmentOf({ env, flags }: OptionSpec<unknown>): readonly (readonly [string, string])[] {
  return env === undefined ? [] : [[env, `in place of ${flags}`]];
}

function page(parts: readonly string[]): string {
  return `${parts.filter((part) => part !== "").join("\n")}\n`;
}

/** A backslash begins an escape, a hyphen may become a dash, and a dot or quote at the begin of a line is a request. */
function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("…", "...")
    .replaceAll("→", "\\(->")
    .replaceAll(/^([.'])/gm, "\\&$1");
}
