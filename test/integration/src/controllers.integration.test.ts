/** Both controllers over a real NATS: a directory in, services out; the server dies and nothing is lost. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connectBus, filters, type SubscriberItem, subscribe } from "@flotilla/bus";
import { main as configController } from "@flotilla/config-controller";
import { endpointsKeyText } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { freePort, startNats } from "@flotilla/servers";
import { main as serviceController } from "@flotilla/service-controller";

const service = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: 80, targetPort: 8080}], selector: {app: web}}
`;
const entries = (address: string) => `apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: vm, namespace: shop}
spec: {address: ${address}, labels: {app: web}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: ext, namespace: shop}
spec: {hosts: [ext.example], resolution: STATIC, ports: [{number: 80, name: http, protocol: HTTP}], endpoints: [{address: ${address}}]}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: shop}
stringData: {address: ${address}}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {servers: [{port: {number: 443, name: https, protocol: HTTPS}, hosts: [web.example], tls: {mode: SIMPLE, credentialName: key}}]}
`;

const key = (registry: string, hostname: string) =>
  endpointsKeyText({ shard: `${registry}/Kubernetes`, namespace: "shop", hostname });
const ofService = key("Kubernetes", "web.shop.svc.cluster.local");
const ofEntry = key("External", "ext.example");

/** The first address of each set of endpoints, as a subscriber sees it. */
function follow(items: AsyncIterable<SubscriberItem>): ReadonlyMap<string, string | undefined> {
  const seen = new Map<string, string | undefined>();
  void (async () => {
    for await (const item of items) {
      for (const change of item.kind === "group" ? item.group.changes : []) {
        if (change.type !== "endpoints") continue;
        seen.set(endpointsKeyText(change.key), change.op === "put" ? change.value[0]?.addresses[0] : undefined);
      }
    }
  })();
  return seen;
}

test("files become endpoints over NATS, also after the server was killed, and restarts publish nothing", async () => {
  await using cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "controllers-"));
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const config = join(directory, "config");
  await mkdir(config);
  await writeFile(join(config, "service.yaml"), service);
  await writeFile(join(config, "entries.yaml"), entries("192.0.2.1"));
  await writeFile(join(directory, "key"), "a key for this test");
  const first = await startNats({ directory, env: process.env });
  const { port, url } = first;

  const [configPort, servicePort] = [await freePort(), await freePort()];
  const shared = { BUS_URL: url, CONFIG_DIR: config, HEALTH_HOST: "127.0.0.1", LOG_LEVEL: "silent" };
  const start = (stop: AbortSignal) =>
    Promise.all([
      configController({ ...shared, SEAL_KEY_FILE: join(directory, "key"), HEALTH_PORT: String(configPort) }, stop),
      serviceController({ ...shared, HEALTH_PORT: String(servicePort) }, stop),
    ]);
  const isReady = async (of: number) => (await fetch(`http://127.0.0.1:${of}/ready`)).ok;
  const bothReady = async () => (await isReady(configPort)) && (await isReady(servicePort));

  const stop = new AbortController();
  let running = start(stop.signal);
  await using bus = await connectBus({ url, clientName: "test", log: noopLogger }, stop.signal);
  const reading = new AbortController();
  cleanup.defer(() => reading.abort());
  const seen = follow(
    subscribe({ bus, filter: filters.everything, afterSequence: 0, seal: undefined }, reading.signal),
  );
  const reach = (address: string) => async () => seen.get(ofService) === address && seen.get(ofEntry) === address;

  await until(bothReady, { withinMs: 60_000, what: "both controllers" });
  await until(reach("192.0.2.1"), { withinMs: 60_000, what: "the first endpoints" });
  await writeFile(join(config, "entries.yaml"), entries("192.0.2.2"));
  await until(reach("192.0.2.2"), { withinMs: 60_000, what: "the changed endpoints" });

  await first.kill();
  await writeFile(join(config, "entries.yaml"), entries("192.0.2.3"));
  await using second = await startNats({ directory, port, env: process.env });
  await until(reach("192.0.2.3"), { withinMs: 60_000, what: "the endpoints written while NATS was away" });

  stop.abort(new Error("stopped"));
  await running;
  const before = (await bus.lastValues(filters.everything)).filter(({ subject }) => !subject.includes(".sync."));
  const again = new AbortController();
  running = start(again.signal);
  await until(bothReady, { withinMs: 60_000, what: "both controllers again" });
  const after = (await bus.lastValues(filters.everything)).filter(({ subject }) => !subject.includes(".sync."));
  assert.deepEqual(
    after.map(({ sequence }) => sequence),
    before.map(({ sequence }) => sequence),
  );
  const secrets = after.filter(({ subject }) => subject.includes(".Secret."));
  assert.equal(secrets.length, 1);
  const plain = Buffer.from("192.0.2.3").toString("base64");
  assert.ok(!secrets.some(({ payload }) => Buffer.from(payload).includes(plain)));
  again.abort(new Error("stopped"));
  await running;
  reading.abort();
  assert.ok(second.pid > 0);
});
