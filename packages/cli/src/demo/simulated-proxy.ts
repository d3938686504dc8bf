/** Without an Envoy: a simulated proxy subscribes as one would and shows what it is sent. */
import { bytesToJson, create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { type ClientTransport, XdsClient } from "@flotilla/xds/client";
import { type Checks, expect } from "./checks.ts";
import type { MeshFolder } from "./mesh-folder.ts";

const route = "8080";

export async function checkSimulated(checks: Checks, transport: ClientTransport, mesh: MeshFolder): Promise<void> {
  const stop = new AbortController();
  const metadata = {
    NAMESPACE: "shop",
    LABELS: { app: "web" },
    INSTANCE_IPS: "127.0.1.11",
    INTERCEPTION_MODE: "NONE",
    CLUSTER_ID: "Kubernetes",
  };
  const client = new XdsClient({
    ...{ form: "delta", transport },
    node: create(NodeSchema, { id: "sidecar~127.0.1.11~web.shop~shop.svc.cluster.local", metadata }),
    backoffMs: () => 200,
  });
  for (const type of [typeUrl.cluster, typeUrl.listener]) client.subscribe(type);
  client.subscribe(typeUrl.route, [route]);
  const running = client.run(stop.signal);
  try {
    await checks.run("a simulated proxy gets clusters, listeners and routes", async () => {
      const held = (type: string) => client.state.held(type).size;
      await until(() => held(typeUrl.cluster) > 0 && held(typeUrl.listener) > 0 && held(typeUrl.route) > 0, {
        withinMs: 5_000,
        what: "all three types",
      });
      return `${held(typeUrl.cluster)} clusters, ${held(typeUrl.listener)} listeners, ${held(typeUrl.route)} routes`;
    });
    await checks.run("a changed file changes the route it has", async () => {
      expect(routeText(client).includes("weightedClusters"), "the route has no weights");
      const started = performance.now();
      mesh.routeAllTo("v2");
      await until(() => !routeText(client).includes("weightedClusters"), { withinMs: 10_000, what: "the new route" });
      return `received after ${Math.round(performance.now() - started)} ms`;
    });
  } finally {
    stop.abort();
    await running;
  }
}

function routeText(client: XdsClient): string {
  const found = client.state.held(typeUrl.route).get(route);
  return found === undefined ? "" : JSON.stringify(bytesToJson(typeUrl.route, found.bytes));
}
