/** `flotilla discovery`: the control plane with istiod's command line, in the foreground until SIGTERM. */
import { createLogger } from "@flotilla/runtime";
import { type discovery as definition, optionKey } from "../definitions/discovery.ts";
import { discoveryFlags } from "../discovery/flags.ts";
import { planDiscovery } from "../discovery/plan.ts";
import type { Run } from "../parse/definition.ts";
import { serveUntilSignal } from "./serve.ts";

export const discovery: Run<typeof definition> = async ({ options, env }) => {
  const given = Object.fromEntries(
    // own key: one of the command's options
    discoveryFlags.map(({ name }) => [
      name,
      (options as Readonly<Record<string, string | undefined>>)[optionKey(name)],
    ]),
  );
  const plan = planDiscovery(given, env, options.workDir);
  const log = createLogger("flotilla");
  for (const note of plan.notes) log.warn(note);
  log.info("effective settings", plan.effective);
  return serveUntilSignal({ options: plan.options, command: "discovery", env, log });
};
