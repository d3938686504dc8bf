/** How a command prints and how it ends: output streams, and exit codes that have one meaning in every command. */
import { styleText } from "node:util";
import { hostFailure } from "@flotilla/runtime";
import { CliError, type CliErrorCode } from "../errors.ts";

/** Output of a command: the process's own streams, or those of a test. */
export interface Terminal {
  /** Writes a line to the standard output. */
  print(text: string): void;
  /** Writes the text as it is to the standard output. */
  write(text: string): void;
  /** Writes a line to the standard error. */
  warn(text: string): void;
  /** Colours a text where the output is a terminal and NO_COLOR is not set. */
  paint(style: Style, text: string): string;
  /** Names what the command does now, for the line of progress. */
  step(text: string): void;
  /** The output is a terminal: it may be drawn again in place. */
  readonly isInteractive: boolean;
}

export type Style = "dim" | "yellow" | "red" | "cyan" | "green";

export function processTerminal(): Terminal {
  return {
    print: (text) => void process.stdout.write(`${text}\n`),
    write: (text) => void process.stdout.write(text),
    warn: (text) => void process.stderr.write(`${text}\n`),
    // Node asks the stream, NO_COLOR and FORCE_COLOR.
    paint: (style, text) => styleText(style, text, { stream: process.stdout }),
    step: () => undefined,
    isInteractive: process.stdout.isTTY === true,
  };
}

/** Ends the process without an error when a reader such as `head` closes the pipe. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
      throw error;
    });
}

export type ExitCode = 0 | 1 | 2 | 3 | 4 | 70 | 79;

/** Exit codes of `flotilla`: one meaning in every command. */
export const exitCodes: Readonly<Record<ExitCode, string>> = {
  0: "done; of `status`: every service is ready and every object accepted",
  1: "failed, or the answer is no: not found, not in time, files differ",
  2: "wrong usage: an unknown command or option, a value that is not valid, a file that is not there, a port or work directory in use, a host that refuses (no room, no permission)",
  3: "refused or not ready: objects refused by validation or by proxies, services that are not ready, a caller without permission",
  4: "no answer: no control plane runs in the work directory, or it does not answer at the given address",
  70: "a defect of flotilla, with its stack",
  79: "analysis found something at or above its threshold, as istioctl reports it",
};

const ofErrors: Readonly<Record<CliErrorCode, ExitCode>> = {
  CLI_USAGE: 2,
  CLI_PORT_TAKEN: 2,
  CLI_IN_USE: 2,
  CLI_REFUSED: 3,
  CLI_NOT_RUNNING: 4,
  CLI_ABSENT: 1,
  CLI_FAILED: 1,
  CLI_SERVICE_ENDED: 1,
};

/** The exit code for an error, and the text for the user: a stack only for unexpected errors. */
export function explainError(error: unknown): { readonly code: ExitCode; readonly text: string } {
  if (error instanceof CliError) return { code: ofErrors[error.code], text: error.message };
  if (!(error instanceof Error)) return { code: 70, text: String(error) };
  const failure = isCoded(error) ? undefined : hostFailure(error);
  if (failure !== undefined) return { code: 2, text: failure };
  return isCoded(error) ? { code: 1, text: error.message } : { code: 70, text: error.stack ?? error.message };
}

/** Errors of our packages name what failed: a stack would hide it. */
function isCoded(error: Error): boolean {
  return /^\[[A-Z_]+\] /.test(error.message);
}
