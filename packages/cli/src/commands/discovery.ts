/** `flotilla discovery`: the control plane with istiod's command line, in the foreground until SIGTERM. */
import { createLogger } from "@flotilla/runtime";
import { type discovery as definition, optionKey } from "../definitions/discovery.ts";
import { discoveryFlags } from "../discovery/flags.ts";
import { planDiscovery } from "../discovery/plan.ts";
import type { Invocation, Run } from "../parse/definition.ts";
import type { ExitCode } from "../parse/terminal.ts";
import { serveUntilSignal } from "./serve.ts";

export const discovery: Run<typeof definition> = (invocation) => runDiscovery(invocation, serveUntilSignal);

/** @param serve runs the control plane, and resolves to the exit code */
export async function runDiscovery(
  { options, env }: Pick<Invocation<typeof definition>, "options" | "env">,
  serve: typeof serveUntilSignal,
  log = createLogger("flotilla"),
): Promise<ExitCode> {
  const given = Object.fromEntries(
    // own key: one of the command's options
    discoveryFlags.map(({ name }) => [
      name,
      (options as Readonly<Record<string, string | undefined>>)[optionKey(name)],
    ]),
  );
  const plan = planDiscovery(given, env, options.workDir);
  for (const note of plan.notes) log.warn(note);
  log.info("effective settings", plan.effective);
  return serve({ options: plan.options, command: "discovery", env, log });
}
