/** Programs that are run to their end, kubectl above all. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

export class ProcessError extends Error {
  override readonly name = "ProcessError";
  readonly output: string;

  constructor(command: string, status: number | null, output: string) {
    super(`${command} ended with ${status}:\n${output.slice(-4000)}`);
    this.output = output;
  }
}

export interface RunOptions {
  readonly cwd?: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Resolves to its output. @throws ProcessError when it ends with another status than 0 */
export async function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { cwd, input = "", env } = options;
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  // A program that ends without reading it reports its result by its status.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const [output, errors, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (status !== 0) throw new ProcessError([program, ...args].join(" ").slice(0, 300), status, output + errors);
  return output;
}

/** @throws ProcessError */
export function kubectl(...args: readonly string[]): Promise<string> {
  return run("kubectl", args);
}

/** @throws ProcessError */
export function apply(objects: readonly object[]): Promise<string> {
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  return run("kubectl", ["apply", "-f", "-"], { input });
}

/** Asks from within a container with Node, `container` being arguments of kubectl exec. Resolves to the status of the answer, or why there is none. */
export async function statusSeenBy(container: readonly string[], url: string, method = "GET"): Promise<string> {
  const ask = `fetch("${url}", { method: "${method}" }).then(({ status }) => console.log(status), ({ cause, message }) => console.log(cause?.code ?? message))`;
  return (await kubectl("exec", ...container, "--", "node", "-e", ask)).trim();
}

export async function getJson<T>(...args: readonly string[]): Promise<T> {
  return JSON.parse(await kubectl("get", ...args, "-o", "json")) as T;
}
