/** The bus of a service, whose state is a condition of the readiness page. */
import type { Health, Metrics } from "@flotilla/runtime";
import type { Bus } from "./bus.ts";
import { type ConnectOptions, connectBus } from "./connect.ts";
import { SetAside } from "./set-aside.ts";

/** A connection whose state appears as the condition `bus` of the readiness page, and as metrics. */
export interface ConnectWithHealthOptions extends ConnectOptions {
  readonly health: Pick<Health, "setCondition">;
  readonly metrics: Pick<Metrics, "counter" | "gauge">;
}

/** Waits for servers that are away. @throws BusError BUS_CONNECT when the URL is of no bus; the reason of `stop` */
export async function connectWithHealth(
  { health, metrics, ...options }: ConnectWithHealthOptions,
  stop: AbortSignal,
): Promise<Bus> {
  const { log, nowMs = Date.now } = options;
  if (options.seal === undefined && !options.url.startsWith("embedded:"))
    log.warn("SEAL_KEY_FILE is not set: values of the bus are not authenticated");
  const setAside = options.setAside ?? new SetAside({ log, nowMs });
  reportSetAside(setAside, { health, metrics });
  health.setCondition("bus", `waiting for ${plainUrls(options.url)}`);
  const bus = await connectBus({ ...options, setAside }, stop);
  const report = () => health.setCondition("bus", bus.state.connected ? undefined : `unreachable: ${bus.state.reason}`);
  bus.onState(report);
  report();
  closeWhereAway(bus, stop);
  return bus;
}

/** Servers without what proves the service to them: users, and parameters that name files. */
function plainUrls(urls: string): string {
  return urls.replaceAll(/\/\/[^/,]*@/g, "//").replaceAll(/\?[^,]*/g, "");
}

/** A service that stops does not wait for unreachable servers: its successor publishes its changes. */
function closeWhereAway(bus: Bus, stop: AbortSignal): void {
  const close = (): void => {
    if (stop.aborted && !bus.state.connected) void bus[Symbol.asyncDispose]();
  };
  bus.onState(close);
  stop.addEventListener("abort", close, { once: true });
}

/** By name on the readiness page, which does not turn unready for it, and by number in the metrics. */
function reportSetAside(
  setAside: SetAside,
  { health, metrics }: Pick<ConnectWithHealthOptions, "health" | "metrics">,
): void {
  const report = () => health.setCondition("values", setAside.summary());
  setAside.onChange(report);
  report();
  declareSetAsideMetrics(metrics, setAside);
}

export function declareSetAsideMetrics(metrics: ConnectWithHealthOptions["metrics"], setAside: SetAside): void {
  metrics.gauge({
    name: "flotilla_values_set_aside",
    help: "Values of the bus and the snapshot that are ignored now: malformed or not authenticated.",
    collect: (gauge) => gauge.set(setAside.list().length),
  });
  const noted = metrics.counter({ name: "flotilla_values_set_aside_total", help: "Values ignored since the start." });
  setAside.onNote(() => noted.add(1));
}
