/** A real Envoy as waypoint of a control plane in this process, with real back ends, and callers that speak HBONE. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProxy, workloadCertificate } from "@flotilla/cli/testing";
import { type Envoy, type EnvoyNode, startEchoServer } from "@flotilla/dataplane";
import { findServer, freePort } from "@flotilla/servers";
import { startEmbedded, writeWhole } from "../embedded.ts";
import { startTunnelEnd, TunnelClient, type TunnelEnd } from "./tunnels.ts";
import {
  edge,
  lateService,
  namespace,
  podPort,
  type WaypointAddresses,
  waypointAddress,
  waypointGateway,
  waypointLabels,
  workloads,
} from "./waypoint-mesh.ts";

export interface WaypointLab extends AsyncDisposable {
  readonly addresses: WaypointAddresses;
  readonly edgePort: number;
  readonly captured: TunnelEnd;
  /** Replaces a file of the mesh; an empty text takes its objects away. */
  write(file: string, text: string): void;
  /** A waypoint and, where asked for, a gateway. One pair at a time: they listen on the same addresses. */
  startProxies(delta: boolean): Promise<Proxies>;
}

export interface Proxies extends AsyncDisposable {
  readonly waypoint: Envoy;
  readonly edge: Envoy;
  /** A caller with the certificate of an account of the namespace. */
  client(serviceAccount: string): Promise<TunnelClient>;
}

type ProxyNode = Pick<EnvoyNode, "type" | "name" | "labels" | "address">;

/** Loopback addresses of this process alone. */
function ownAddresses(): WaypointAddresses {
  const second = 64 + (process.pid % 128);
  const third = Math.floor(process.pid / 128) % 256;
  const own = (last: number) => `127.${second}.${third}.${last}`;
  return { waypoint: own(1), v1: own(2), v2: own(3), captured: own(4) };
}

export async function startWaypointLab(): Promise<WaypointLab> {
  await using owned = new AsyncDisposableStack();
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-waypoints-"));
  owned.defer(() => rmSync(workDir, { recursive: true, force: true }));
  const addresses = ownAddresses();
  for (const name of ["v1", "v2", "captured"] as const)
    owned.use(await startEchoServer(name, podPort, addresses[name]));
  const edgePort = await freePort();
  const config = join(workDir, "mesh");
  mkdirSync(config);
  const write = (file: string, text: string) => writeWhole(join(config, file), text);
  write("workloads.yaml", workloads(addresses));
  write("late.yaml", lateService(addresses, {}));
  write("waypoint.yaml", `${waypointGateway}\n---\n${waypointAddress(addresses.waypoint)}`);
  write("edge.yaml", edge(edgePort));
  const more = { PILOT_ENABLE_AMBIENT: "true" };
  const { layout } = owned.use(await startEmbedded(workDir, config, { more }));
  const certificate = (serviceAccount: string) => workloadCertificate({ namespace, serviceAccount }, layout);
  const captured = owned.use(await startTunnelEnd(addresses.captured, await certificate("captured")));
  const binary = await findServer("envoy", { env: process.env });
  const start = async (own: AsyncDisposableStack, delta: boolean, node: ProxyNode) => {
    const whole = { ...node, name: `${node.name}-${delta ? "delta" : "sotw"}`, namespace, serviceAccount: node.name };
    const envoy = await startProxy(binary, whole, layout, own, delta);
    await envoy.ready(60_000);
    return envoy;
  };
  const kept = owned.move();
  return {
    ...{ addresses, edgePort, captured, write },
    startProxies: async (delta) => {
      await using own = new AsyncDisposableStack();
      const { waypoint: address } = addresses;
      const waypoint = await start(own, delta, { type: "waypoint", name: "waypoint", labels: waypointLabels, address });
      const edge = await start(own, delta, {
        type: "router",
        name: "edge",
        labels: { app: "edge" },
        address: "192.0.2.1",
      });
      const moved = own.move();
      return {
        ...{ waypoint, edge },
        client: async (account) => moved.use(new TunnelClient(`${address}:15008`, await certificate(account))),
        [Symbol.asyncDispose]: () => moved.disposeAsync(),
      };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
