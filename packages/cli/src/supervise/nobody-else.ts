/** What answers at our ports already would pass for our services: they are ready before those have begun. */
import { delay } from "@flotilla/runtime";
import { CliError } from "../errors.ts";
import { healthPort, type Layout, services } from "../layout.ts";
import { healthOf } from "./health.ts";

/** Services whose control plane was killed end soon after it. */
const endWithinMs = 5_000;

/** @throws CliError CLI_PORT_TAKEN naming the ports */
export async function nobodyElse({ ports }: Pick<Layout, "ports">, withinMs = endWithinMs): Promise<void> {
  for (const deadline = performance.now() + withinMs; ; await delay(200)) {
    const others = await whoServes(ports);
    if (others.length === 0) return;
    if (performance.now() < deadline) continue;
    const hint = "end the control plane that runs there, or choose ten others in a row with --xds-port";
    throw new CliError("CLI_PORT_TAKEN", `somebody else serves at ${others.join(", ")}: ${hint}`);
  }
}

async function whoServes(ports: Layout["ports"]): Promise<readonly string[]> {
  const found = services.map(async (name) => {
    const port = healthPort(name, ports);
    const { state } = await healthOf({ healthUrl: `http://127.0.0.1:${port}` });
    return state === "away" ? [] : [`${port} (${name})`];
  });
  return (await Promise.all(found)).flat();
}
