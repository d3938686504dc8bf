/**
 * The processes between a user and this one: npm, the shell that npm puts between, scripts/bootstrap.mjs. A signal that ends
 * one of them does not always reach this process, so that their ends are watched.
 */
import { factsOf, isAlive, type ProcessFacts } from "./supervise/processes.ts";

const everyMs = 500;

/** Calls `onEnd` once, when one of them has ended. */
export function onLaunchersEnd(env: NodeJS.ProcessEnv, onEnd: () => void): Disposable {
  let launchers: readonly ProcessFacts[] = [];
  // Only these start `flotilla` for somebody else; a user's own shell may end before what runs in the background.
  const isStartedByNpm = env["npm_lifecycle_event"] !== undefined;
  void (isStartedByNpm ? launchersOf(process.ppid, factsOf) : Promise.resolve([])).then((found) => {
    launchers = found;
  });
  const timer = setInterval(() => {
    if (launchers.every(({ pid }) => isAlive(pid))) return;
    clearInterval(timer);
    onEnd();
  }, everyMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Upwards from a process, up to npm or the like. */
export async function launchersOf(
  pid: number,
  facts: (pid: number) => Promise<ProcessFacts | undefined>,
): Promise<readonly ProcessFacts[]> {
  const found: ProcessFacts[] = [];
  for (let at = pid; at > 0; ) {
    const one = await facts(at);
    if (one === undefined || !isLauncher(one.commandLine)) return found;
    found.push(one);
    if (isPackageManager(one.commandLine)) return found;
    at = one.parent;
  }
  return found;
}

function isLauncher(commandLine: string): boolean {
  return (
    isPackageManager(commandLine) ||
    /\bbootstrap\.mjs\b/.test(commandLine) ||
    /^\S*\b(?:ba|da|z)?sh -c /.test(commandLine)
  );
}

/** `npm start` as it names itself, and as its program is run. */
function isPackageManager(commandLine: string): boolean {
  return /^(?:npm|npx|pnpm|yarn)\b|[\\/](?:npm|npx|pnpm|yarn)(?:-cli)?(?:\.c?js)?(?:\s|$)/.test(commandLine);
}
