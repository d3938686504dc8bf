/** Simulated ztunnels: each has a connection of its own and takes all workloads, services and policies; they keep names and versions only. */
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { type ClientTransport, XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";

export interface Ztunnels extends AsyncDisposable {
  /** All of them together. */
  readonly bytes: number;
  readonly messages: number;
  /** How many there are. */
  readonly count: number;
  /** How many have at least so many services and workloads. */
  synced(resources: number): number;
  /** Called for each workload or service that a message brings or takes away; undefined for no listener. */
  onName: ((ztunnel: number, name: string, isThere: boolean) => void) | undefined;
}

export function startZtunnels(address: string, count: number): Ztunnels {
  const stop = new AbortController();
  const fleet = {
    bytes: 0,
    messages: 0,
    count,
    onName: undefined as Ztunnels["onName"],
  };
  const clients = Array.from({ length: count }, (_, index) => {
    const client = new XdsClient({
      form: "delta",
      transport: counted(grpcTransport({ address }), fleet),
      node: nodeOf(index),
      keepBytes: false,
      backoffMs: () => 200,
      onUpdate: ({ typeUrl: type, changed, removed }) => {
        if (type !== typeUrl.address || fleet.onName === undefined) return;
        for (const { name } of changed) fleet.onName(index, name, true);
        for (const name of removed) fleet.onName(index, name, false);
      },
    });
    client.subscribe(typeUrl.address);
    client.subscribe(typeUrl.authorization);
    return { client, running: client.run(stop.signal) };
  });
  return Object.assign(fleet, {
    synced: (resources: number) =>
      clients.filter(({ client }) => client.state.held(typeUrl.address).size >= resources).length,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all(clients.map(({ running }) => running));
    },
  });
}

function nodeOf(index: number) {
  return create(NodeSchema, {
    id: `ztunnel~10.77.0.${index}~ztunnel-${index}.istio-system~istio-system.svc.cluster.local`,
    metadata: { NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes", NODE_NAME: `n-${index}` },
  });
}

interface Counts {
  bytes: number;
  messages: number;
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
