/**
 * Requests to stop: SIGINT, SIGTERM, SIGHUP, or the end of whichever process started this one. The first one asks for an
 * orderly stop, after which the exit code is that of the command; a second signal ends the process at once, with 128 and the
 * number of the signal.
 */
import { constants } from "node:os";
import { onLaunchersEnd } from "./launchers.ts";

export interface StopRequests extends Disposable {
  readonly stop: AbortSignal;
  readonly fired: Promise<void>;
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** `env`: of this process; npm sets variables in it. */
export function untilSignal(env: NodeJS.ProcessEnv): StopRequests {
  const controller = new AbortController();
  const { promise: fired, resolve } = Promise.withResolvers<void>();
  const request = (cause: string) => {
    controller.abort(new Error(`stopped by ${cause}`));
    resolve();
  };
  const onSignal = (signal: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(128 + constants.signals[signal]);
    request(signal);
  };
  const onDisconnect = () => request("the end of its launcher");
  for (const signal of signals) process.on(signal, onSignal);
  process.on("disconnect", onDisconnect);
  process.channel?.unref();
  const launchers = onLaunchersEnd(env, onDisconnect);
  return {
    stop: controller.signal,
    fired,
    [Symbol.dispose]: () => {
      for (const signal of signals) process.off(signal, onSignal);
      process.off("disconnect", onDisconnect);
      launchers[Symbol.dispose]();
    },
  };
}

/** For commands that do not stop by themselves: they end when the launcher closes its channel, as by SIGTERM. */
export function endWithLauncher(): void {
  if (!process.connected) return;
  process.on("disconnect", () => {
    if (process.listenerCount("SIGTERM") === 0) process.exit(128 + constants.signals.SIGTERM);
  });
  process.channel?.unref();
}
