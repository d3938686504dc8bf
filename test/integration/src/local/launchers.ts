/** The processes that start `flotilla serve` for a user, from the outermost to `flotilla` itself. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { factsOf } from "@flotilla/cli/testing";
import { type Launched, launch, program } from "./flotilla.ts";

export type LauncherName = "npm" | "shell" | "bootstrap" | "flotilla";

/** The started programs; each entry starts the next. */
export type Chain = readonly ["npm", "shell", "bootstrap"] | readonly ["bootstrap"] | readonly ["flotilla"];

export interface LaunchedChain extends AsyncDisposable {
  readonly plane: Launched;
  readonly pids: Readonly<Record<LauncherName, number | undefined>>;
}

const serve = ["serve", "--embedded"];

/** Resolves when every service is ready. */
export async function launchChain([first]: Chain): Promise<LaunchedChain> {
  await using owned = new AsyncDisposableStack();
  const plane = owned.use(await (first === "npm" ? launchByNpm(owned) : launchByNode(first)));
  await plane.ready();
  const flotilla = plane.running()?.pid ?? 0;
  const bootstrap = first === "flotilla" ? undefined : await parentOf(flotilla);
  const shell = first === "npm" ? await childOf(plane.child.pid ?? 0, bootstrap ?? 0) : undefined;
  const npm = first === "npm" ? plane.child.pid : undefined;
  const kept = owned.move();
  return { plane, pids: { npm, shell, bootstrap, flotilla }, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

function launchByNode(first: "bootstrap" | "flotilla"): Promise<Launched> {
  const script = first === "bootstrap" ? ["scripts/bootstrap.mjs", "flotilla"] : ["--", program];
  return launch({ command: [process.execPath, ...script, ...serve] });
}

/** With a shell that starts npm's command as a child of its own, as those do that don't replace themselves by it. */
async function launchByNpm(owned: AsyncDisposableStack): Promise<Launched> {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-shell-"));
  owned.defer(() => rmSync(directory, { recursive: true, force: true }));
  const shell = join(directory, "shell");
  writeFileSync(shell, '#!/bin/sh\n/bin/sh "$@"\nexit $?\n');
  chmodSync(shell, 0o755);
  return launch({
    command: ["npm", "run", "--silent", "flotilla", "--", ...serve],
    env: { npm_config_script_shell: shell, npm_config_update_notifier: "false" },
  });
}

async function parentOf(pid: number): Promise<number | undefined> {
  return (await factsOf(pid))?.parent;
}

/** The child of `ancestor` from which `pid` descends. */
async function childOf(ancestor: number, pid: number): Promise<number | undefined> {
  for (let at = pid; at > 1; ) {
    const parent = await parentOf(at);
    if (parent === undefined) return undefined;
    if (parent === ancestor) return at;
    at = parent;
  }
  return undefined;
}
