/** `flotilla serve`: the control plane for scripts, in the foreground, until SIGTERM. */
import { createLogger } from "@flotilla/runtime";
import type { Command } from "../command.ts";
import { parseRunOptions } from "../options.ts";
import { untilSignal } from "../signals.ts";
import { startControlPlane } from "../supervise/control-plane.ts";

export const serve: Command = async (args, env) => {
  const options = parseRunOptions(args, env);
  const log = createLogger("flotilla");
  using signals = untilSignal();
  await using controlPlane = await startControlPlane({ options, logs: "output", onProgress: (text) => log.info(text) });
  log.info("started", {
    services: controlPlane.services.map(({ name }) => name),
    ports: { ...controlPlane.layout.ports },
  });
  await Promise.race([signals.fired, controlPlane.ended]);
  return 0;
};
