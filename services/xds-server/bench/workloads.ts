/**
 * `pnpm bench:workloads [--services N] [--pods N] [--ztunnels N] [--changes N] [--batch N]`: processor time of xds-server's own thread for one
 * birth or death of a pod, without sockets: applied in batches, written to the streams of ztunnels, acknowledged by each. A line of JSON a round.
 */
import { randomUUID } from "node:crypto";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { type Change, parseNode, type Workload, workloadUid } from "@flotilla/model";
import { create, decode, encode, type MessageInitShape, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { messageOf } from "@flotilla/raw-grpc";
import { createMetrics, noopLogger } from "@flotilla/runtime";
import { Bodies, SharedStates } from "@flotilla/xds";
import { Core } from "../src/app/core.ts";
import { createCoreSource } from "../src/app/core-source.ts";
import { ResourceHistory } from "../src/debug/resource-history.ts";
import { defaultPushLimits, PushQueue, systemClock } from "../src/push/push-queue.ts";
import { RequestDecoder } from "../src/serve/decode-request.ts";
import { Deliveries } from "../src/serve/deliveries.ts";
import { MessageCache, type Wire, writeDeadlines } from "../src/serve/message-cache.ts";
import { SharedRecords } from "../src/serve/progress.ts";
import { RejectionLog } from "../src/serve/rejection-log.ts";
import { Stream } from "../src/serve/stream.ts";
import { defaultStreamLimits, type StreamContext } from "../src/serve/stream-context.ts";
import { createStreamMetrics } from "../src/serve/stream-metrics.ts";
import { applyOptionsOf } from "../src/testing/apply-options.ts";
import { aService, put } from "../src/testing/mesh.ts";

const { values } = parseArgs({
  options: {
    services: { type: "string", default: "2000" },
    pods: { type: "string", default: "10000" },
    ztunnels: { type: "string", default: "50" },
    changes: { type: "string", default: "2000" },
    batch: { type: "string", default: "1" },
  },
});
const [services, pods, ztunnels, changes, batch] = [
  values.services,
  values.pods,
  values.ztunnels,
  values.changes,
  values.batch,
].map(Number) as [number, number, number, number, number];
const rounds = 3;

const source = createCoreSource(new Core({ features: { ambient: true } }));
const queue = new PushQueue({ clock: systemClock, ...defaultPushLimits });
const metrics = createStreamMetrics(createMetrics());
const deliveries = new Deliveries({ metrics, nowMs: Date.now });
const history = new ResourceHistory();
const now = () => performance.now();
const context: StreamContext = {
  ...{
    source,
    scheduler: queue,
    deliveries,
    metrics,
    log: noopLogger,
    debug: undefined,
    limits: defaultStreamLimits,
    now,
  },
  observer: { sent: (_stream, _type, receipt, change) => change && history.note(change, receipt) },
  cache: new MessageCache({ maxBytes: 64e6, now, noncePrefix: randomUUID().slice(0, 8) }),
  ...{ states: new SharedStates(), bodies: new Bodies(), records: new SharedRecords(), writes: writeDeadlines(30_000) },
  rejections: new RejectionLog({ now, onUnlogged: () => undefined }),
};
const requests = new RequestDecoder();
let position = 0;
let messages = 0;
/** Messages that have not been acknowledged. */
let underWay = 0;
let lastFrame: Buffer | undefined;
let lastAnswer: Buffer = Buffer.alloc(0);

const selecting = (i: number) => aService(`s-${i}`, "bench", { labelSelectors: { app: `s-${i}` } });
apply(put(...Array.from({ length: services }, (_, i) => selecting(i))));
apply(Array.from({ length: pods }, (_, pod) => changeOf(pod, "put")));
for (let i = 0; i < ztunnels; i++) startZtunnel(i);
await settled();
for (let round = 0; round < rounds; round++) await measure(pods + round * changes);
process.exit(0);

async function measure(firstPod: number): Promise<void> {
  messages = 0;
  const before = process.threadCpuUsage();
  for (let done = 0; done < changes; done += batch) {
    // Each pod goes right after it came.
    apply(
      Array.from({ length: batch }, (_, i) => {
        const number = done + i;
        return changeOf(firstPod + (number >> 1), number % 2 === 0 ? "put" : "delete");
      }),
    );
    await settled();
  }
  const { user, system } = process.threadCpuUsage(before);
  const figures = { usOfChange: Math.round((user + system) / changes), messagesOfChange: messages / changes };
  const load = Math.round((loadavg()[0] ?? 0) * 10) / 10;
  process.stdout.write(`${JSON.stringify({ services, pods, ztunnels, batch, ...figures, load })}\n`);
}

function changeOf(pod: number, op: "put" | "delete"): Change {
  const value: Workload = {
    ...{ kind: "Pod", name: `p-${pod}`, namespace: "bench", workloadName: `p-${pod}`, nodeName: `n-${pod % ztunnels}` },
    addresses: [`10.${100 + (pod >> 16)}.${(pod >> 8) & 255}.${pod & 255}`],
    labels: { app: `s-${pod % services}` },
    ...{ network: "", locality: "r/z", clusterId: "Kubernetes", serviceAccount: "app", isReady: true },
    ...{ tunnel: "hbone", ports: {} },
  };
  const key = { shard: "Kubernetes/Kubernetes", namespace: "bench", uid: workloadUid(value) };
  return op === "put" ? { type: "workload", op, key, value } : { type: "workload", op, key };
}

function apply(all: readonly Change[]): void {
  deliveries.begin(new Map());
  source.apply(all, { ...applyOptionsOf(all, ++position), urgency: "urgent" });
  deliveries.end();
}

async function settled(): Promise<void> {
  do await new Promise((resolve) => setImmediate(resolve));
  while (queue.depth.waiting > 0 || underWay > 0);
}

function startZtunnel(index: number): void {
  const id = `ztunnel~10.77.0.${index}~ztunnel-${index}.istio-system~istio-system.svc.cluster.local`;
  const metadata = { NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes", NODE_NAME: `n-${index}` };
  const proxy = parseNode({ id, locality: { region: "", zone: "", subzone: "" }, metadata });
  const receive = (bytes: Buffer) => stream.receive(requests.decode("delta", bytes).request);
  const wire: Wire = {
    peer: "bench",
    write: (frame, left) => {
      messages++;
      underWay++;
      setImmediate(() => {
        underWay--;
        left(undefined);
        receive(answerTo(frame));
      });
    },
    end: () => undefined,
    cutConnection: () => undefined,
  };
  const client = { proxy, identities: [] };
  const stream: Stream = new Stream(
    { id: `z-${index}`, form: "delta", client, wire, onClosed: () => undefined },
    context,
  );
  const node = create(NodeSchema, { id });
  for (const type of [typeUrl.address, typeUrl.authorization]) receive(request({ typeUrl: type, node }));
}

/** One for all streams that are sent the message, as its bytes are. */
function answerTo(frame: Buffer): Buffer {
  if (frame === lastFrame) return lastAnswer;
  lastFrame = frame;
  const { nonce, typeUrl: type } = decode(DeltaDiscoveryResponseSchema, messageOf(frame));
  lastAnswer = request({ typeUrl: type, responseNonce: nonce });
  return lastAnswer;
}

function request(fields: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): Buffer {
  return Buffer.from(encode(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, fields)));
}
