/** `flotilla serve`: the control plane for scripts, in the foreground, until SIGTERM. */
import { createLogger } from "@flotilla/runtime";
import type { serve as definition } from "../definitions/local.ts";
import { runOptionsOf } from "../options.ts";
import type { Run } from "../parse/definition.ts";
import { untilSignal } from "../signals.ts";
import { startControlPlane } from "../supervise/control-plane.ts";
import type { SupervisionEvent } from "../supervise/supervised.ts";

export const serve: Run<typeof definition> = async (invocation) => {
  const options = runOptionsOf(invocation);
  const log = createLogger("flotilla");
  using requests = untilSignal(invocation.env);
  const { stop, fired } = requests;
  const onEvent = ({ kind, name, ...fields }: SupervisionEvent) => {
    if (kind === "ended") log.warn("process ended", { process: name, ...fields });
    else log.info("process started again", { process: name, ...fields });
  };
  const onProgress = (text: string) => log.info(text);
  await using controlPlane = await startControlPlane({
    ...{ options, logs: "output", command: "serve", onProgress, onEvent, stop },
  });
  log.info("started", {
    services: controlPlane.services.map(({ replica }) => replica),
    ports: { ...controlPlane.layout.ports },
  });
  await Promise.race([fired, controlPlane.ended]);
  log.info("stopping");
  return 0;
};
