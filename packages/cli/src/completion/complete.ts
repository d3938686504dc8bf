/** Words that may stand at the cursor of a command line, from the definitions of the commands. Pure. */
import type { Command, CommandDefinition, OperandSpec, OptionSpec } from "../parse/definition.ts";

/** Completions for a shell: words with descriptions, or names of its own file system. */
type Candidates =
  | { readonly type: "words"; readonly words: readonly Candidate[] }
  | { readonly type: "file" | "directory" };

interface Candidate {
  readonly word: string;
  readonly help: string;
}

interface Known {
  readonly commands: readonly Command[];
  /** Words that only group commands, with their sentences. */
  readonly groups: Readonly<Record<string, string>>;
}

/** `words`: those after `flotilla` up to the cursor, of which the last is being written and may be empty. */
function complete(words: readonly string[], known: Known): Candidates {
  const typed = words.at(-1) ?? "";
  const before = joinedByEquals(words.slice(0, -1));
  const definition = definitionOf(before.words, known);
  if (definition === undefined) return offered(commandWords(before.words, known), typed);
  const option = before.isOpen ? before.words.at(-1) : optionBefore(typed, before.words, definition);
  const spec = option === undefined ? undefined : specOf(option, definition);
  if (spec !== undefined) return valuesOf(spec, typed, before.isOpen || !typed.startsWith("--") ? "" : `${option}=`);
  if (typed.startsWith("-")) return offered(optionWords(definition), typed);
  const { values = [] } = operandAt(before.words, definition) ?? {};
  return offered(
    values.map((word) => ({ word, help: "" })),
    typed,
  );
}

/** The operand that is being written, by those that stand before it; the last one may take several. */
function operandAt(words: readonly string[], definition: CommandDefinition): OperandSpec<unknown> | undefined {
  const given = words.filter((word, index) => {
    const option = words[index - 1];
    const isValue = option !== undefined && specOf(option, definition)?.flags.includes("<") === true;
    return !word.startsWith("-") && !isValue;
  });
  const place = given.length - definition.name.split(" ").length;
  const operands = Object.values(definition.operands);
  const last = operands.at(-1);
  return operands[place] ?? (last?.syntax.includes("...") ? last : undefined);
}

/** One candidate a line, its description behind a tab; `:file` and `:directory` ask the shell for names of files. */
export function candidateLines(words: readonly string[], known: Known): readonly string[] {
  const found = complete(words, known);
  if (found.type !== "words") return [`:${found.type}`];
  return found.words.map(({ word, help }) => (help === "" ? word : `${word}\t${help}`));
}

/** bash hands over `--output=json` as three words. `isOpen`: the last one was `--output=`. */
function joinedByEquals(words: readonly string[]): { readonly words: readonly string[]; readonly isOpen: boolean } {
  const isOpen = words.at(-1) === "=";
  return { words: words.filter((word, index) => word !== "=" && words[index - 1] !== "="), isOpen };
}

function definitionOf(words: readonly string[], { commands }: Known): CommandDefinition | undefined {
  const plain = words.filter((word) => !word.startsWith("-"));
  const named = [plain.slice(0, 2).join(" "), plain[0] ?? ""];
  for (const name of named)
    for (const { definition } of commands)
      if (definition.name === name || definition.aliases?.includes(name)) return definition;
  return undefined;
}

/** Commands, or those of a group that is named already. */
function commandWords(words: readonly string[], { commands, groups }: Known): readonly Candidate[] {
  const [group] = words;
  if (words.length > 1 || (group !== undefined && !Object.hasOwn(groups, group))) return [];
  const all = commands.map(({ definition: { name, summary } }) => ({ name, help: summary }));
  if (group !== undefined)
    return all
      .filter(({ name }) => name.startsWith(`${group} `))
      .map(({ name, help }) => ({ word: name.slice(group.length + 1), help }));
  const single = all.filter(({ name }) => !name.includes(" ")).map(({ name, help }) => ({ word: name, help }));
  return [...single, ...Object.entries(groups).map(([word, help]) => ({ word, help }))];
}

/** The option whose value is being written: `--output js` or `--output=js`. */
function optionBefore(typed: string, words: readonly string[], definition: CommandDefinition): string | undefined {
  if (typed.startsWith("--") && typed.includes("=")) return typed.slice(0, typed.indexOf("="));
  const last = words.at(-1);
  return last !== undefined && specOf(last, definition)?.flags.includes("<") ? last : undefined;
}

function specOf(option: string, { options }: CommandDefinition): OptionSpec<unknown> | undefined {
  return Object.values(options).find(({ flags }) => flagsOf(flags).includes(option));
}

function flagsOf(flags: string): readonly string[] {
  return flags.split(/, | /).filter((word) => word.startsWith("-"));
}

function valuesOf({ choices, values }: OptionSpec<unknown>, typed: string, prefix: string): Candidates {
  if (values !== undefined) return { type: values };
  return offered(
    (choices ?? []).map((word) => ({ word: `${prefix}${word}`, help: "" })),
    typed,
  );
}

function optionWords({ options }: CommandDefinition): readonly Candidate[] {
  const own = Object.values(options).flatMap(({ flags, help }) =>
    flagsOf(flags)
      .filter((flag) => flag.startsWith("--"))
      .map((word) => ({ word, help })),
  );
  return [...own, { word: "--help", help: "show the help" }];
}

function offered(words: readonly Candidate[], typed: string): Candidates {
  return { type: "words", words: words.filter(({ word }) => word.startsWith(typed)) };
}
