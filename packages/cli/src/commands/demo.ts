/** `flotilla demo`: the control plane, a sample mesh, real Envoys, and requests through them. */
import { type FetchOptions, findServer, ServersError } from "@flotilla/servers";
import { grpcTransport } from "@flotilla/xds/grpc";
import type { demo as definition } from "../definitions/local.ts";
import { Checks } from "../demo/checks.ts";
import { fleetAddresses, startFleet } from "../demo/fleet.ts";
import { copySample, type MeshFolder, meshFolder } from "../demo/mesh-folder.ts";
import { checkSimulated } from "../demo/simulated-proxy.ts";
import { checkTraffic } from "../demo/traffic-checks.ts";
import { runOptionsOf } from "../options.ts";
import type { Run } from "../parse/definition.ts";
import { untilSignal } from "../signals.ts";
import { allReady } from "../supervise/all-ready.ts";
import { type ControlPlane, startControlPlane } from "../supervise/control-plane.ts";
import { addressesFree } from "../supervise/ports-free.ts";
import { formatTable, tableRows } from "../supervise/service-table.ts";
import { eventText } from "../supervise/supervised.ts";

type Say = (text: string) => void;

const readyWithinMs = 60_000;

export const demo: Run<typeof definition> = async (invocation) => {
  const given = runOptionsOf(invocation);
  using requests = untilSignal(invocation.env);
  const { stop, fired } = requests;
  // Checks that are under way when the demo is stopped print nothing any more.
  const say = (text: string) => (stop.aborted ? undefined : invocation.terminal.print(text));
  const find = { env: given.settings, onProgress: say, stop };
  const mesh = meshFolder(given.workDir);
  const embedded = given.embedded || !(await hasServers(find, say));
  await using controlPlane = await startControlPlane({
    ...{ options: { ...given, config: mesh.path, embedded }, logs: "files", command: "demo", stop },
    ...{ onProgress: say, onEvent: (event) => say(eventText(event)) },
    prepare: async () => {
      await addressesFree(
        fleetAddresses,
        "end that process: the back ends and proxies of the demo have fixed addresses",
      );
      copySample(given.workDir);
      say("starting the control plane");
    },
  });
  await allReady(controlPlane, readyWithinMs, () => undefined, stop);
  await printTable(controlPlane, say);
  await using owned = new AsyncDisposableStack();
  const checks = new Checks(say);
  const show = async () => {
    await showMesh({ checks, mesh, controlPlane, envoy: await envoyBinary(find, say) }, owned);
    say(`\n${checks.summary()}`);
    if (invocation.options.once) return;
    say("serving until Ctrl-C");
    await fired;
  };
  await Promise.race([show(), fired, controlPlane.ended]);
  return checks.failed === 0 || stop.aborted ? 0 : 1;
};

interface Showing {
  readonly checks: Checks;
  readonly mesh: MeshFolder;
  readonly controlPlane: ControlPlane;
  /** The program; undefined where there is none. */
  readonly envoy: string | undefined;
}

async function showMesh(
  { checks, mesh, controlPlane: { layout }, envoy }: Showing,
  owned: AsyncDisposableStack,
): Promise<void> {
  if (envoy === undefined)
    return checkSimulated(checks, grpcTransport({ address: `127.0.0.1:${layout.ports.xds}` }), mesh);
  const fleet = owned.use(await startFleet(envoy, layout));
  await Promise.all([fleet.client.ready(20_000), fleet.server.ready(20_000)]);
  await checkTraffic(checks, fleet, mesh);
}

async function printTable(controlPlane: ControlPlane, say: Say): Promise<void> {
  const { shared, startedAtMs } = controlPlane;
  say(formatTable(await tableRows(controlPlane)));
  const seconds = ((Date.now() - startedAtMs) / 1000).toFixed(1);
  say(`ready after ${seconds} s; bus ${shared.busUrl}, snapshot ${shared.storeUrl}`);
}

async function hasServers(find: FetchOptions, say: Say): Promise<boolean> {
  try {
    for (const name of ["nats", "redis"] as const) await findServer(name, find);
    return true;
  } catch (error) {
    if (!(error instanceof ServersError)) throw error;
    say(`${error.message}\nwithout real servers everything runs in one process`);
    return false;
  }
}

async function envoyBinary(find: FetchOptions, say: Say): Promise<string | undefined> {
  try {
    const envoy = await findServer("envoy", find);
    say("starting three back ends and two Envoys");
    return envoy;
  } catch (error) {
    if (!(error instanceof ServersError)) throw error;
    say(`${error.message}\nwithout an Envoy a simulated proxy shows what is sent`);
    return undefined;
  }
}
