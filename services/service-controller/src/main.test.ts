import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connectBus, createPublisher, filters, subscribe } from "@flotilla/bus";
import type { Change } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { freePort } from "@flotilla/servers";
import { main } from "./main.ts";

const service = (port: number) => `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: ${port}}]}
`;

function short({ type, op, key }: Change): string {
  return `${type} ${op} ${"hostname" in key ? key.hostname : "name" in key ? key.name : key.uid}`;
}

function entry(host: string): Change {
  const key = { kind: "ServiceEntry", namespace: "shop", name: "ext" };
  const spec = { hosts: [host], ports: [{ number: 80, name: "http" }], resolution: "DNS" };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
}

test("the service joins a directory and configuration events, and publishes what they change", async () => {
  const directory = await mkdtemp(join(tmpdir(), "controller-"));
  await writeFile(join(directory, "web.yaml"), service(80));
  const reader = new AbortController();
  const busUrl = "embedded:service-controller-main";
  await using bus = await connectBus({ url: busUrl, clientName: "t", log: noopLogger }, reader.signal);
  const options = { bus, seal: undefined, log: noopLogger };
  const configuration = createPublisher({ ...options, publisher: "config-controller", nowMs: Date.now });
  const items = subscribe({ ...options, filter: filters.everything, afterSequence: 0 }, reader.signal);
  const next = async (): Promise<readonly string[]> => {
    for (;;) {
      const { value } = await items.next();
      if (value?.kind === "group" && value.group.cause.publisher === "service-controller") {
        return value.group.changes.map(short).sort();
      }
    }
  };
  const port = await freePort();
  const env = {
    BUS_URL: busUrl,
    CONFIG_DIR: directory,
    HEALTH_HOST: "127.0.0.1",
    HEALTH_PORT: String(port),
    LOG_LEVEL: "silent",
  };
  const page = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();

  const stop = new AbortController();
  const running = main(env, stop.signal);
  const first = next();
  await until(async () => (await page("/ready")).includes("starting"), { withinMs: 30_000, what: "the page" });
  await configuration.synchronize([entry("one.example")]);
  assert.deepEqual(await first, [
    "endpoints put one.example",
    "service put one.example",
    "service put web.shop.svc.cluster.local",
  ]);
  await until(async () => (await page("/ready")).includes('"ready": true'), { withinMs: 30_000, what: "readiness" });

  await configuration.publish([entry("two.example")]);
  assert.deepEqual(await next(), [
    "endpoints delete one.example",
    "endpoints put two.example",
    "service delete one.example",
    "service put two.example",
  ]);
  await writeFile(join(directory, "web.yaml"), service(0));
  assert.deepEqual(await next(), ["service put web.shop.svc.cluster.local"]);
  assert.match(await page("/debug/problems"), /0 is no port/);
  assert.match(await page("/debug/registryz?host=two.example"), /External\/Kubernetes/);
  assert.match(await page("/debug/settings"), /CONFIG_DIR/, "the pages of every process are served, too");
  const { instances } = JSON.parse(await page("/debug/instancesz?object=ServiceEntry/shop/ext"));
  const [instance] = instances["ServiceEntry/shop/ext"];
  assert.deepEqual([instance.shard, instance.hostname, instance.port], ["External/Kubernetes", "two.example", 80]);

  assert.match(await page("/metrics"), /^flotilla_registry_published_total\{type="service",op="put"[^}]*\} 4$/m);
  stop.abort(new Error("the test is over"));
  await running;

  const again = new AbortController();
  const restarted = main(env, again.signal);
  await until(async () => (await page("/ready")).includes('"ready": true'), { withinMs: 30_000, what: "the restart" });
  assert.doesNotMatch(
    await page("/metrics"),
    /^flotilla_registry_published_total\{/m,
    "an unchanged restart publishes nothing",
  );
  again.abort(new Error("the test is over"));
  await restarted;
  reader.abort();
  await items.return?.(undefined);
  await rm(directory, { recursive: true });
});
