/** The bus of a service, whose readiness page tells how it stands with it. */
import type { Health } from "@flotilla/runtime";
import type { Bus } from "./bus.ts";
import { type ConnectOptions, connectBus } from "./connect.ts";

export interface TellingOptions extends ConnectOptions {
  readonly health: Pick<Health, "setCondition">;
}

/** Waits for servers that are away. @throws BusError BUS_CONNECT when the URL is of no bus; the reason of `stop` */
export async function connectTelling({ health, ...options }: TellingOptions, stop: AbortSignal): Promise<Bus> {
  health.setCondition("bus", `waiting for ${options.url.replaceAll(/\/\/[^/,]*@/g, "//")}`);
  const bus = await connectBus(options, stop);
  const tell = () => health.setCondition("bus", bus.state.connected ? undefined : `away: ${bus.state.reason}`);
  bus.onState(tell);
  tell();
  return bus;
}
