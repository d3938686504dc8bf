/** SIGINT and SIGTERM as a promise; a second one ends the process at once. */
export interface Signals extends Disposable {
  readonly stop: AbortSignal;
  readonly fired: Promise<void>;
}

export function untilSignal(): Signals {
  const controller = new AbortController();
  const { promise: fired, resolve } = Promise.withResolvers<void>();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort(new Error("stopped"));
    resolve();
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return {
    stop: controller.signal,
    fired,
    [Symbol.dispose]: () => {
      process.off("SIGINT", onSignal);
      process.off("SIGTERM", onSignal);
    },
  };
}
