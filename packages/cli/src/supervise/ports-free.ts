/** The ports of a control plane are tried before anything is started: the answer comes at once and names who holds one. */
import { createServer } from "node:net";
import { CliError } from "../errors.ts";
import type { Ports } from "../layout.ts";
import { factsOf, listenerOn } from "./processes.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** @throws CliError CLI_PORT_TAKEN naming the first port in use, its holder and the option that moves it */
export async function portsFree({ console, consoleHealth, ...ports }: Ports, hasConsole = false): Promise<void> {
  // 0 is any free port, which can always be had.
  const addresses = [...new Set([...Object.values(ports), ...(hasConsole ? [console, consoleHealth] : [])])].map(
    (port) => ({ host: "127.0.0.1", port }),
  );
  await addressesFree(
    addresses,
    "end that process, or choose other ports with --xds-port PORT (the first of twelve in a row)",
  );
}

/** @throws CliError CLI_PORT_TAKEN naming the first address in use and its holder, with `advice` */
export async function addressesFree(addresses: readonly Address[], advice: string): Promise<void> {
  for (const address of addresses) {
    const failure = await tryAddress(address);
    if (failure === undefined) continue;
    const { host, port } = address;
    const why = failure === "EADDRINUSE" ? `in use${await holderText(port)}` : `not available (${failure})`;
    throw new CliError("CLI_PORT_TAKEN", `port ${port} on ${host} is ${why}: ${advice}`);
  }
}

/** Undefined when it can be bound, else the code of the error. */
function tryAddress({ host, port }: Address): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.once("error", ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message));
  server.listen({ port, host }, () => server.close(() => resolve(undefined)));
  return promise;
}

async function holderText(port: number): Promise<string> {
  const pid = await listenerOn(port);
  if (pid === undefined) return " by another process";
  const facts = await factsOf(pid);
  return ` by process ${pid}${facts === undefined ? "" : ` (${shortened(facts.commandLine)})`}`;
}

function shortened(commandLine: string): string {
  return commandLine.length > 120 ? `${commandLine.slice(0, 117)}...` : commandLine;
}
