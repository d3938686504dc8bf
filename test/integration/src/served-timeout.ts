/** A change that is easy to follow from its file to a proxy: the time-out of one route. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlane } from "@flotilla/cli/testing";
import { bytesToJson, create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";

const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop" },
  spec: { clusterIP: "10.0.0.1", ports: [{ name: "http", port: 80 }], selector: { app: "web" } },
};
const virtualService = (timeout: string) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "web", namespace: "shop" },
  spec: { hosts: ["web"], http: [{ timeout: `${timeout}s`, route: [{ destination: { host: "web" } }] }] },
});

/** `timeout` in seconds. */
export function writeTimeout(directory: string, timeout: string): void {
  const items = [service, virtualService(timeout)];
  writeFileSync(join(directory, "mesh.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items }));
}

export interface Served {
  readonly plane: ControlPlane;
  /** Directory of its configuration. */
  readonly config: string;
  readonly timeout: string;
}

/** A change of the configuration reaches a proxy that is connected, and one that connects now. */
export async function expectServed({ plane, config, timeout }: Served, stop: AbortSignal): Promise<void> {
  const soon = (what: string) => ({ withinMs: 60_000, what });
  await using connected = openClient(plane, "connected", stop);
  writeTimeout(config, timeout);
  await until(() => connected.timeout() === timeout, soon(`timeout ${timeout} on a connected proxy`));
  await using late = openClient(plane, "late", stop);
  await until(() => late.timeout() === timeout, soon(`timeout ${timeout} on a new proxy`));
}

function openClient(plane: ControlPlane, name: string, stop: AbortSignal) {
  const metadata = { NAMESPACE: "shop", LABELS: { app: "web" }, INSTANCE_IPS: "127.0.1.11", CLUSTER_ID: "Kubernetes" };
  const client = new XdsClient({
    form: "delta",
    transport: grpcTransport({ address: `127.0.0.1:${plane.layout.ports.xds}` }),
    node: create(NodeSchema, { id: `sidecar~127.0.1.11~${name}.shop~shop.svc.cluster.local`, metadata }),
    backoffMs: () => 200,
  });
  for (const type of [typeUrl.cluster, typeUrl.listener]) client.subscribe(type);
  client.subscribe(typeUrl.route, ["80"]);
  const ended = new AbortController();
  const running = client.run(AbortSignal.any([stop, ended.signal]));
  const timeout = (): string => {
    const found = client.state.held(typeUrl.route).get("80");
    const text = found === undefined ? "" : JSON.stringify(bytesToJson(typeUrl.route, found.bytes));
    return /"timeout":"(\d+)s"/.exec(text)?.[1] ?? "";
  };
  const close = async () => {
    ended.abort();
    await running;
  };
  return { timeout, [Symbol.asyncDispose]: close };
}
