/** Simulated clients: some reconnect with their versions, one never reads. */
import { connect } from "node:http2";
import { aggregatedDiscoveryService, create, encode, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { DeltaDiscoveryRequestSchema } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { delay } from "@flotilla/runtime";
import { type ClientTransport, XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";

function nodeOf(i: number) {
  const ip = `10.9.${i >> 8}.${i & 255}`;
  const metadata = { NAMESPACE: "default", INSTANCE_IPS: ip, LABELS: { app: "client" }, CLUSTER_ID: "Kubernetes" };
  return create(NodeSchema, { id: `sidecar~${ip}~client-${i}.default~default.svc.cluster.local`, metadata });
}

export interface Reconnected {
  /** All clients together, after they came again. */
  readonly bytes: number;
  readonly resources: number;
}

/**
 * Connects `clients`, lets them get everything and reconnect with their versions; resolves when all is quiet. That they
 * are there again is proven by a change.
 *
 * @throws when not every client came again and got the change.
 */
export async function reconnect(address: string, clients: number, change: () => void): Promise<Reconnected> {
  const stop = new AbortController();
  const counts = { bytes: 0, resources: 0, messages: 0, opened: 0 };
  const fleet = Array.from({ length: clients }, (_, i) => envoyLike(address, i, counts));
  const running = fleet.map(({ client }) => client.run(stop.signal));
  await Promise.all(fleet.map(({ synced }) => synced));
  await quiet(() => counts.messages, 1_000);
  counts.bytes = 0;
  counts.resources = 0;
  for (const { client } of fleet) client.disconnect();
  await quiet(() => counts.messages, 4_000);
  const { bytes, resources, messages, opened } = counts;
  if (opened !== 2 * clients) throw new Error(`${opened - clients} of ${clients} came again`);
  change();
  await quiet(() => counts.messages, 4_000);
  if (counts.messages - messages < clients) throw new Error("the change did not reach every client that came again");
  stop.abort();
  await Promise.all(running);
  return { bytes, resources };
}

interface Counts {
  bytes: number;
  resources: number;
  messages: number;
  opened: number;
}

/** Asks as Envoy does: endpoints of the clusters it was given, the routes of its listeners. */
function envoyLike(address: string, i: number, counts: Counts) {
  const awaited = new Set<string>([typeUrl.cluster, typeUrl.endpoint, typeUrl.listener, typeUrl.route]);
  const done = Promise.withResolvers<void>();
  const client: XdsClient = new XdsClient({
    form: "delta",
    transport: counted(grpcTransport({ address }), counts),
    node: nodeOf(i),
    keepBytes: false,
    backoffMs: () => 200,
    onConnection: (event) => {
      if (event === "opened") counts.opened++;
    },
    onUpdate: ({ typeUrl: type, changed }) => {
      counts.resources += changed.length;
      if (!awaited.delete(type)) return;
      if (type === typeUrl.cluster)
        client.subscribe(
          typeUrl.endpoint,
          changed.map(({ name }) => name).filter((name) => name.startsWith("outbound|")),
        );
      if (type === typeUrl.listener) client.subscribe(typeUrl.route, ["80"]);
      if (awaited.size === 0) done.resolve();
    },
  });
  client.subscribe(typeUrl.cluster);
  client.subscribe(typeUrl.listener);
  return { client, synced: done.promise };
}

function counted(transport: ClientTransport, counts: Counts): ClientTransport {
  return {
    open: (form) => {
      const stream = transport.open(form);
      return { ...stream, responses: count(stream.responses, counts) };
    },
  };
}

async function* count(responses: AsyncIterable<Uint8Array>, counts: Counts): AsyncIterable<Uint8Array> {
  for await (const bytes of responses) {
    counts.bytes += bytes.length;
    counts.messages++;
    yield bytes;
  }
}

/** Resolves when the count has stood still for as long. */
async function quiet(count: () => number, ms: number): Promise<void> {
  for (let before = -1; before !== count(); ) {
    before = count();
    await delay(ms);
  }
}

/** Asks for all clusters and never reads; the connection stays until it is disposed. */
export function stuckClient(address: string): Disposable {
  const session = connect(`http://${address}`, { settings: { initialWindowSize: 65_535 } });
  session.on("error", () => undefined);
  const { path } = aggregatedDiscoveryService.deltaAggregatedResources;
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => undefined);
  stream.pause();
  for (const type of [typeUrl.cluster, typeUrl.listener]) {
    const init = { node: nodeOf(65_000), typeUrl: type };
    const request = encode(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, init));
    const head = Buffer.alloc(5);
    head.writeUInt32BE(request.length, 1);
    stream.write(Buffer.concat([head, request]));
  }
  return { [Symbol.dispose]: () => session.destroy() };
}
