/** CPU that one change costs between publisher and reader apart from NATS: encoding, authentication, checks. `node packages/bus/bench/message.ts` */
import type { Change } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import { connectBus, createPublisher, createSeal, filters, lastChanges } from "../src/index.ts";

const rounds = 5;
const count = 2_000;
const seal = createSeal("a key for the bench");

const route = (i: number) => ({
  timeout: `${i}s`,
  route: [{ destination: { host: `reviews-${i}.shop.svc.cluster.local` } }],
});
function virtualService(i: number, version: number): Change {
  const key = { kind: "VirtualService", namespace: "shop", name: `vs-${i}` };
  const spec = { hosts: [`reviews-${i}`], http: Array.from({ length: 8 }, (_, at) => route(version * 10 + at)) };
  const value = { key, labels: { app: "reviews" }, annotations: {}, creationTimeMs: 1, spec };
  return { type: "config", op: "put", key, value };
}
function endpoints(i: number, version: number): Change {
  const key = { shard: "Kubernetes/c1", namespace: "shop", hostname: `svc-${i}.shop.svc.cluster.local` };
  const value = Array.from({ length: 20 }, (_, at) => ({
    ...{
      addresses: [`10.${version}.${i % 250}.${at}`],
      servicePortName: "http",
      port: 8080,
      labels: { app: "a", version: "v1" },
    },
    ...{ serviceAccount: "spiffe://cluster.local/ns/shop/sa/a", network: "", locality: "r/z", clusterId: "c1" },
    ...{ weight: 0, tlsMode: "istio", namespace: "shop", workloadName: "a", health: "healthy" as const },
  }));
  return { type: "endpoints", op: "put", key, value };
}

/** Of the whole process: other processes of the machine do not count. */
function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function run(
  name: string,
  isAuthenticated: boolean,
  make: (i: number, version: number) => Change,
): Promise<void> {
  const options = { url: `embedded:bench-${name}-${isAuthenticated}`, clientName: "bench", log: noopLogger };
  const stop = new AbortController().signal;
  await using bus = await connectBus({ ...options, ...(isAuthenticated && { seal }) }, stop);
  const publisher = createPublisher({ bus, publisher: "bench", seal, log: noopLogger, nowMs: Date.now });
  const [written, read]: number[][] = [[], []];
  for (let version = 0; version < rounds; version++) {
    const changes = Array.from({ length: count }, (_, i) => make(i, version));
    const began = cpuUs();
    await publisher.publish(changes);
    const published = cpuUs();
    let found = 0;
    for await (const _ of lastChanges({ bus, filter: filters.everything, seal })) found++;
    if (found !== count) throw new Error(`${found} of ${count} changes were read`);
    written?.push((published - began) / count);
    read?.push((cpuUs() - published) / count);
  }
  const best = (all: number[] | undefined) => Math.round(Math.min(...(all ?? [])) * 10) / 10;
  process.stdout.write(
    `${JSON.stringify({ scenario: name, isAuthenticated, publishUs: best(written), readUs: best(read) })}\n`,
  );
}

for (const isAuthenticated of [false, true]) {
  await run("VirtualService of 1 kB", isAuthenticated, virtualService);
  await run("20 endpoints, 6 kB", isAuthenticated, endpoints);
}
