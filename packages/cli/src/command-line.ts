/** `flotilla`: parses the command line, runs the command, turns failures into one line and an exit code. */
import { CommanderError } from "commander";
import { commands, groups } from "./commands.ts";
import { candidateLines } from "./completion/complete.ts";
import { completeWord } from "./completion/scripts.ts";
import { reachCluster } from "./connection.ts";
import { buildProgram, type Chosen } from "./parse/program.ts";
import { ProgressLine, withProgress } from "./parse/progress.ts";
import { type ExitCode, explainError, processTerminal, type Terminal } from "./parse/terminal.ts";

/** Resolves to the exit code, also for wrong usage: it throws for nothing that a user can cause. */
export async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  terminal: Terminal = processTerminal(),
): Promise<ExitCode> {
  let failure: ExitCode = 1;
  if (args[0] === completeWord) {
    const words = args.slice(args[1] === "--" ? 2 : 1);
    for (const line of candidateLines(words, { commands, groups })) terminal.print(line);
    return 0;
  }
  try {
    const chosen = parse(args, env, terminal);
    if (typeof chosen === "number") return chosen;
    const { command, operands } = chosen;
    using line = progressOf(command.definition);
    const shown = line === undefined ? terminal : withProgress(terminal, line);
    failure = command.definition.failure ?? failure;
    const runCommand = await command.load();
    await using cluster = await reachCluster(chosen.options);
    const definitions = commands.map((known) => known.definition);
    return await runCommand({ options: cluster.options, operands, env, terminal: shown, definitions });
  } catch (error) {
    const { code, text } = explainError(error);
    terminal.warn(`flotilla: ${text}`);
    return code === 1 ? failure : code;
  }
}

/** Undefined for commands that run in the foreground. */
function progressOf({ progress }: Chosen["command"]["definition"]): ProgressLine | undefined {
  return progress === undefined ? undefined : new ProgressLine(progress, { output: process.stderr, nowMs: Date.now });
}

/** The command with its values, or the exit code after help or an error of usage was written. */
function parse(args: readonly string[], env: NodeJS.ProcessEnv, terminal: Terminal): Chosen | ExitCode {
  const found: Chosen[] = [];
  const program = buildProgram({ commands, groups, env, terminal, onChosen: (chosen) => found.push(chosen) });
  try {
    program.parse(args.length === 0 ? ["--help"] : withoutHelpCommand(args), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
  return found[0] ?? 0;
}

/** `help ca rotate` is `ca rotate --help`; words that are no command are left to be refused as such. */
function withoutHelpCommand(args: readonly string[]): readonly string[] {
  const [first, ...words] = args;
  if (first !== "help" || words.length === 0) return args;
  const isKnown = commands.some(({ definition: { name, aliases = [] } }) => {
    const named = name.split(" ").slice(0, words.length);
    return named.join(" ") === words.join(" ") || (words.length === 1 && aliases.includes(words[0] ?? ""));
  });
  return isKnown ? [...words, "--help"] : words;
}
