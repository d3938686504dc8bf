/** `flotilla demo`: the control plane, a sample mesh, real Envoys, and requests through them. */
import { findServer, ServersError } from "@flotilla/servers";
import type { demo as definition } from "../definitions/local.ts";
import { Checks } from "../demo/checks.ts";
import { startFleet } from "../demo/fleet.ts";
import { copySample } from "../demo/mesh-folder.ts";
import { checkSimulated } from "../demo/simulated-proxy.ts";
import { checkTraffic } from "../demo/traffic-checks.ts";
import { type RunOptions, runOptionsOf } from "../options.ts";
import type { Run } from "../parse/definition.ts";
import { untilSignal } from "../signals.ts";
import { addressesOf } from "../supervise/addresses.ts";
import { allReady, type ControlPlane, startControlPlane } from "../supervise/control-plane.ts";
import { formatTable, tableRows } from "../supervise/service-table.ts";

const say = (text: string) => process.stdout.write(`${text}\n`);

export const demo: Run<typeof definition> = async (invocation) => {
  const given = runOptionsOf(invocation);
  using signals = untilSignal();
  const mesh = copySample(given.workDir);
  const options = { ...given, config: mesh.path, embedded: given.embedded || !(await hasServers(given)) };
  say("starting the control plane");
  await using controlPlane = await startControlPlane({ options, logs: "files", onProgress: say });
  await allReady(controlPlane, 60_000, () => undefined, signals.stop);
  await printTable(controlPlane);
  const checks = new Checks(say);
  const envoy = await envoyBinary(given);
  await using owned = new AsyncDisposableStack();
  if (envoy !== undefined) {
    say("starting three back ends and two Envoys");
    const fleet = owned.use(await startFleet(envoy, controlPlane.layout));
    await Promise.all([fleet.client.ready(20_000), fleet.server.ready(20_000)]);
    await checkTraffic(checks, fleet, mesh);
  } else {
    await checkSimulated(checks, controlPlane.layout, mesh);
  }
  say(`\n${checks.summary()}`);
  if (!invocation.options.once && !signals.stop.aborted) {
    say("serving until Ctrl-C");
    await Promise.race([signals.fired, controlPlane.ended]);
  }
  return checks.failed === 0 ? 0 : 1;
};

async function printTable({ services, layout, shared, startedAtMs }: ControlPlane): Promise<void> {
  say(formatTable(await tableRows(services, (name) => addressesOf(name, layout.ports))));
  say(
    `ready after ${((Date.now() - startedAtMs) / 1000).toFixed(1)} s; bus ${shared.busUrl}, snapshot ${shared.storeUrl}`,
  );
}

async function hasServers({ settings }: RunOptions): Promise<boolean> {
  try {
    for (const name of ["nats", "redis"] as const) await findServer(name, { env: settings, onProgress: say });
    return true;
  } catch (error) {
    if (!(error instanceof ServersError)) throw error;
    say(`${error.message}\nwithout real servers everything runs in one process`);
    return false;
  }
}

async function envoyBinary({ settings }: RunOptions): Promise<string | undefined> {
  try {
    return await findServer("envoy", { env: settings, onProgress: say });
  } catch (error) {
    if (!(error instanceof ServersError)) throw error;
    say(`${error.message}\nwithout an Envoy a simulated proxy shows what is sent`);
    return undefined;
  }
}
