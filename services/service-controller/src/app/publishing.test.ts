/** A replica that begins to publish keeps what was published of clusters that it has not read yet, or cannot follow now. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { connectBus, createPublisher, filters, subscribe } from "@flotilla/bus";
import type { Change } from "@flotilla/model";
import { ClusterRegistries, defaultRegistrySettings } from "@flotilla/registry";
import { aborted, createMetrics, noopLogger as log } from "@flotilla/runtime";
import { declareMetrics } from "../metrics.ts";
import type { RegistryService } from "../settings.ts";
import type { InputGroup, InputSource } from "../watch/input-source.ts";
import type { Inputs } from "./inputs.ts";
import { createPublishing } from "./publishing.ts";

const hostname = "web.shop.svc.cluster.local" as const;
const endpointsIn = (cluster: string): Change => {
  const key = { shard: `Kubernetes/${cluster}`, namespace: "shop", hostname };
  return { type: "endpoints", op: "put", key, value: [] };
};

it("what was published of a cluster stays while the cluster has not been read, or cannot be followed", async () => {
  const stop = new AbortController();
  await using bus = await connectBus({ url: "embedded:publishing", clientName: "t", log }, stop.signal);
  const before = createPublisher({ bus, publisher: "service-controller", seal: undefined, log, nowMs: Date.now });
  await before.publish(["read", "unread", "old"].map(endpointsIn));

  const source: InputSource = {
    name: "kubernetes",
    problems: () => [],
    async *groups(end): AsyncGenerator<InputGroup> {
      yield { inputs: [], eventTimeMs: 1, unread: ["Kubernetes/unread"] };
      await aborted(end);
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  const service = {
    ...{ name: "service-controller", settings: { digestIntervalMs: 60_000, podName: "one" }, log },
    ...{ metrics: createMetrics(), failures: undefined, tracer: undefined, stop: stop.signal },
  } as unknown as RegistryService;
  const inputs = { sources: [source], kubernetes: [{ old: () => ["Kubernetes/old"] }] } as unknown as Inputs;
  const registry = new ClusterRegistries(defaultRegistrySettings);
  const publishing = createPublishing(service, { bus, registry, inputs, metrics: declareMetrics(service.metrics) });
  const running = publishing.run();
  await publishing.settled;

  const seen: string[] = [];
  const options = { bus, seal: undefined, log, filter: filters.everything, afterSequence: 0 };
  for await (const item of subscribe(options, stop.signal)) {
    if (item.kind !== "group") continue;
    for (const { op, key } of item.group.changes) if ("shard" in key) seen.push(`${op} ${key.shard}`);
    if (seen.some((text) => text.startsWith("delete"))) break;
  }
  assert.deepEqual(
    seen.filter((text) => text.startsWith("delete")),
    ["delete Kubernetes/read"],
  );
  assert.match(await service.metrics.text(), /^flotilla_registry_publishes 1$/m);
  stop.abort();
  await running;
});
