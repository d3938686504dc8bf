/** Definitions of commands as data: commander parses by them, help and docs/cli.md are written from them. */
import type { ExitCode, Terminal } from "./terminal.ts";

/** An option of a command; `Value` is the type of the parsed value. */
export interface OptionSpec<Value> {
  /** As commander reads them: `-n, --namespace <NAMESPACE>`. */
  readonly flags: string;
  readonly help: string;
  readonly initial: Value;
  /** Shown as the default where `initial` does not show it. */
  readonly initialText?: string;
  /** Environment variable that replaces the default. */
  readonly env?: string;
  readonly choices?: readonly string[];
  /** Names of the file system that shells complete. */
  readonly values?: "file" | "directory";
  /** Absent for flags. @throws InvalidArgumentError of commander */
  parse?(text: string, previous: Value): Value;
  /** Heading in the help: options of one heading mean the same in every command. */
  readonly group?: string;
}

export interface OperandSpec<Value> {
  /** As commander reads it: `<KIND>`, `[NAME...]`. */
  readonly syntax: string;
  readonly help: string;
  readonly initial: Value;
  /** Words that shells complete. */
  readonly values?: readonly string[];
}

/** By the name that commander gives the option: `workDir` for `--work-dir`. */
export type OptionTable = Readonly<Record<string, OptionSpec<unknown>>>;
export type OperandTable = Readonly<Record<string, OperandSpec<unknown>>>;

type ValuesOf<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends { readonly initial: infer Value } ? Value : never;
};

export interface CommandDefinition<
  Options extends OptionTable = OptionTable,
  Operands extends OperandTable = OperandTable,
> {
  /** One word, or two for a command of a group: `ca rotate`. */
  readonly name: string;
  /** Short names of the command. */
  readonly aliases?: readonly string[];
  /** Heading in the list of commands. */
  readonly group: string;
  readonly summary: string;
  /** Help beyond the summary. */
  readonly details?: string;
  /** Command lines without `flotilla`, each with its purpose. */
  readonly examples: readonly (readonly [line: string, purpose: string])[];
  readonly operands: Operands;
  readonly options: Options;
  /** The meaning of its exit codes where the general table is not precise enough. */
  readonly exitCodes?: Partial<Readonly<Record<ExitCode, string>>>;
  /** Unknown options are ignored with a warning; else they are wrong usage. */
  readonly unknownOptions?: "warn";
  /** Shown on a terminal while the command takes longer than a second; absent for those that run in the foreground or draw by themselves. */
  readonly progress?: string;
  /** The exit code of failures where 1 has another meaning. */
  readonly failure?: ExitCode;
}

/** Inputs of a command's run. */
export interface Invocation<Definition extends CommandDefinition> {
  readonly options: ValuesOf<Definition["options"]>;
  readonly operands: ValuesOf<Definition["operands"]>;
  readonly env: NodeJS.ProcessEnv;
  readonly terminal: Terminal;
  /** Those of all commands. */
  readonly definitions: readonly CommandDefinition[];
}

export type Run<Definition extends CommandDefinition> = (invocation: Invocation<Definition>) => Promise<ExitCode>;

/** A definition with its code, which is loaded when the command is run. */
export interface Command {
  readonly definition: CommandDefinition;
  readonly load: () => Promise<Run<CommandDefinition>>;
}

/** An option's sentence with its values, default and environment variable, for pages. */
export function optionText({ help, initial, initialText, env, choices }: OptionSpec<unknown>): string {
  const initially =
    initialText ?? (typeof initial === "string" || typeof initial === "number" ? `${initial}` : undefined);
  const notes = [
    ...(choices === undefined ? [] : [choices.join(", ")]),
    ...(initially === undefined ? [] : [`default ${initially}`]),
    ...(env === undefined ? [] : [`environment ${env}`]),
  ];
  return notes.length === 0 ? help : `${help} (${notes.join("; ")})`;
}

export function define<const Options extends OptionTable, const Operands extends OperandTable>(
  definition: CommandDefinition<Options, Operands>,
): CommandDefinition<Options, Operands> {
  return definition;
}

/** Pairs a definition with code that takes the values of its options. */
export function command<Definition extends CommandDefinition>(
  definition: Definition,
  load: () => Promise<Run<Definition>>,
): Command {
  // The values come from this definition's own parsers (`program.ts`), which the type of the table cannot express.
  return { definition, load: load as unknown as Command["load"] };
}
