/** Binding a port, with an error that names the port and the setting that moves it. */
import type { AddressInfo, Server } from "node:net";
import { RuntimeError } from "./errors.ts";
import { hostFailure } from "./host-failure.ts";

/** The port to bind, and the setting that an error names. */
export interface ListenOptions {
  /** 0 takes any free port. */
  readonly port: number;
  readonly host: string;
  /** The setting to change when the port is taken. */
  readonly setting: string;
}

/** Connections that wait to be accepted; the kernel lowers it to net.core.somaxconn. Beyond it a client sends its SYN again after 1, 3 and 7 s. */
const backlog = 4_096;

/** Resolves to the port in use. @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export function listen(server: Server, { port, host, setting }: ListenOptions): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const fail = (error: unknown): void => reject(listenError(error, { port, host, setting }));
  server.once("error", fail);
  server.listen({ port, host, backlog }, () => {
    server.off("error", fail);
    resolve((server.address() as AddressInfo).port);
  });
  return promise;
}

/** For servers that bind by themselves: explains their error to the operator that set the port. */
function listenError(error: unknown, { port, host, setting }: ListenOptions): RuntimeError {
  const text = error instanceof Error ? error.message : String(error);
  const code = (error as { code?: unknown } | null)?.code;
  if (code === "EADDRINUSE" || /EADDRINUSE|address already in use/i.test(text)) {
    const what = `port ${port} on ${host} is in use by another process; free it or set ${setting} to another port`;
    return new RuntimeError("PORT_IN_USE", what, { cause: error });
  }
  const lack = code === "EMFILE" || code === "ENFILE" ? hostFailure(error) : undefined;
  const what = `port ${port} on ${host} cannot be opened (${lack ?? text}); it is set by ${setting}`;
  return new RuntimeError("PORT_REFUSED", what, { cause: error });
}
