/** `pnpm bench`: µs per message of `encode` and of the library's own encoder; the best of several rounds. */
import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { encode } from "@flotilla/proto";
import { ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { ClusterLoadAssignmentSchema } from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_pb";
import { ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { aCluster, aListener, anAssignment, aRouteConfiguration } from "./bench-messages.ts";

const rounds = 15;
const millisecondsARound = 120;

const cases: readonly (readonly [name: string, schema: DescMessage, message: Message])[] = [
  ["Cluster with mTLS", ClusterSchema, aCluster()],
  ["Listener, 4 chains", ListenerSchema, aListener()],
  ["RouteConfiguration, 500 hosts", RouteConfigurationSchema, aRouteConfiguration(500)],
  ["1000 endpoints", ClusterLoadAssignmentSchema, anAssignment(1000)],
];

for (const [name, schema, message] of cases) {
  const ours = microseconds(() => encode(schema, message));
  const theirs = microseconds(() => toBinary(schema, message));
  const bytes = encode(schema, message).length;
  process.stdout.write(`${JSON.stringify({ name, bytes, encode: ours, toBinary: theirs })}\n`);
}

function microseconds(run: () => Uint8Array): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const started = performance.now();
    let count = 0;
    while (performance.now() - started < millisecondsARound) {
      run();
      count++;
    }
    best = Math.min(best, ((performance.now() - started) * 1000) / count);
  }
  return Number(best.toPrecision(3));
}
