/** `flotilla console`: the address of the console, how to get a token for it, and a browser that opens it. */
import { spawn } from "node:child_process";
import type { consoleCommand as definition } from "../definitions/insight.ts";
import { CliError } from "../errors.ts";
import type { Run } from "../parse/definition.ts";
import { runningIn } from "../running.ts";
import { healthOf } from "../supervise/health.ts";

export const consoleCommand: Run<typeof definition> = async ({ options, terminal }) => {
  const { workDir, printOnly } = options;
  const { services, ports } = runningIn(workDir);
  const found = services.find(({ name }) => name === "console");
  if (found === undefined)
    throw new CliError(
      "CLI_NOT_RUNNING",
      `the control plane of ${workDir} runs without a console: flotilla up starts one`,
    );
  const { state, detail } = await healthOf(found);
  if (state === "away") throw new CliError("CLI_NOT_RUNNING", `the console does not answer at ${found.healthUrl}`);
  const url = `http://localhost:${ports.console}`;
  terminal.print(url);
  if (detail !== "") terminal.warn(`flotilla: ${detail}`);
  terminal.print("sign in with a token of an account, for example:");
  terminal.print(
    `  flotilla token --namespace istio-system --service-account flotilla-admin --audience flotilla-api --work-dir ${workDir}`,
  );
  if (!printOnly && terminal.isInteractive) openBrowser(url);
  return 0;
};

const openers: Partial<Readonly<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** The address was printed: a host without a browser is no failure. */
function openBrowser(url: string): void {
  const [program = "xdg-open", ...given] = openers[process.platform] ?? [];
  const child = spawn(program, [...given, url], { stdio: "ignore", detached: true });
  child.once("error", () => undefined);
  child.unref();
}
