/** Both controllers and xds-server in this process, with a directory of files and one sidecar that is connected. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main as configController } from "@flotilla/config-controller";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { main as serviceController } from "@flotilla/service-controller";
import { type ClientUpdate, XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { main as xdsServer } from "@flotilla/xds-server";

export interface SmallMesh extends AsyncDisposable {
  /** Writes a file of the configuration. */
  write(name: string, text: string): void;
  /** Called within the turn in which the client received an update. */
  onUpdate: (update: ClientUpdate) => void;
}

export async function startSmallMesh(files: Readonly<Record<string, string>>): Promise<SmallMesh> {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-walk-"));
  const [config, registry] = [join(directory, "config"), join(directory, "registry")];
  for (const folder of [config, registry]) mkdirSync(folder);
  const write = (name: string, text: string) => writeFileSync(join(directory, `${name}.yaml`), text);
  for (const [name, text] of Object.entries(files)) write(name, text);
  const port = await freePorts(5);
  const stop = new AbortController();
  const shared = {
    BUS_URL: `embedded:${directory}`,
    STORE_URL: `embedded:${directory}`,
    HEALTH_HOST: "127.0.0.1",
    LOG_LEVEL: "silent",
  };
  const running = Promise.all(
    [configController, serviceController, xdsServer].map((main, index) =>
      main(
        {
          ...shared,
          CONFIG_DIR: main === serviceController ? registry : config,
          XDS_HOST: "127.0.0.1",
          XDS_PORT: String(port),
          HTTP_PORT: String(port + 1),
          HEALTH_PORT: String(port + 2 + index),
        },
        stop.signal,
      ),
    ),
  );
  const client = new XdsClient({
    transport: grpcTransport({ address: `127.0.0.1:${port}` }),
    form: "delta",
    node: create(NodeSchema, {
      id: "sidecar~192.0.2.9~client.shop~shop.svc.cluster.local",
      metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", ISTIO_VERSION: "1.29.0" },
    }),
    backoffMs: () => 50,
    onUpdate: (update) => mesh.onUpdate(update),
  });
  const mesh: SmallMesh = {
    write,
    onUpdate: () => undefined,
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error("the walk is over"));
      await Promise.allSettled([running, following]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
  const seen = new Set<string>();
  mesh.onUpdate = ({ typeUrl: type }) => void seen.add(type);
  client.subscribe(typeUrl.cluster);
  client.subscribe(typeUrl.listener);
  client.subscribe(typeUrl.route, ["80"]);
  client.subscribe(typeUrl.endpoint, ["outbound|80||web.shop.svc.cluster.local"]);
  const following = client.run(stop.signal);
  const types = [typeUrl.cluster, typeUrl.listener, typeUrl.route, typeUrl.endpoint];
  await until(() => types.every((type) => seen.has(type)), { withinMs: 60_000, what: "every type to be answered" });
  return mesh;
}
