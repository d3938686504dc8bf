/** `flotilla serve`: the control plane for scripts, in the foreground, until SIGTERM. */
import { createLogger, type Logger } from "@flotilla/runtime";
import type { serve as definition } from "../definitions/local.ts";
import { type RunOptions, runOptionsOf } from "../options.ts";
import type { Run } from "../parse/definition.ts";
import type { ExitCode } from "../parse/terminal.ts";
import { untilSignal } from "../signals.ts";
import { startControlPlane } from "../supervise/control-plane.ts";
import type { SupervisionEvent } from "../supervise/supervised.ts";

export const serve: Run<typeof definition> = async (invocation) => {
  const options = runOptionsOf(invocation);
  return serveUntilSignal({ options, command: "serve", env: invocation.env, log: createLogger("flotilla") });
};

interface ServeOptions {
  readonly options: RunOptions;
  /** The command of `flotilla` that runs it. */
  readonly command: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
}

/** Runs the control plane with its logs on the standard output. @throws as `startControlPlane` */
export async function serveUntilSignal({ options, command, env, log }: ServeOptions): Promise<ExitCode> {
  using requests = untilSignal(env);
  const { stop, fired } = requests;
  const onEvent = ({ kind, name, ...fields }: SupervisionEvent) => {
    if (kind === "ended") log.warn("process ended", { process: name, ...fields });
    else log.info("process started again", { process: name, ...fields });
  };
  const onProgress = (text: string) => log.info(text);
  await using controlPlane = await startControlPlane({
    ...{ options, logs: "output", command, onProgress, onEvent, stop },
  });
  log.info("started", {
    services: controlPlane.services.map(({ replica }) => replica),
    ports: { ...controlPlane.layout.ports },
  });
  await Promise.race([fired, controlPlane.ended]);
  log.info("stopping");
  return 0;
}
