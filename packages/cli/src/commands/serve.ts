/** `flotilla serve`: the control plane for scripts, in the foreground, until SIGTERM. */
import { createLogger } from "@flotilla/runtime";
import type { serve as definition } from "../definitions/local.ts";
import { runOptionsOf } from "../options.ts";
import type { Run } from "../parse/definition.ts";
import { untilSignal } from "../signals.ts";
import { startControlPlane } from "../supervise/control-plane.ts";

export const serve: Run<typeof definition> = async (invocation) => {
  const options = runOptionsOf(invocation);
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
