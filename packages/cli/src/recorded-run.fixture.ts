/** Runs a command line within a test: what it prints, and its exit code. */
import { run } from "./command-line.ts";

export interface RecordedRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export async function recordRun(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<RecordedRun> {
  let [out, err] = ["", ""];
  const code = await run(args, env, {
    print: (text) => {
      out += `${text}\n`;
    },
    write: (text) => {
      out += text;
    },
    warn: (text) => {
      err += `${text}\n`;
    },
    paint: (_, text) => text,
    step: () => undefined,
    isInteractive: false,
  });
  return { code, out, err };
}
