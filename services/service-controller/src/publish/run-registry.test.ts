import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ConfigChange } from "@flotilla/model";
import { ClusterRegistries, defaultRegistrySettings } from "@flotilla/registry";
import { BoundedQueue, timeLimit } from "@flotilla/runtime";
import { objectDirectory } from "../watch/file-sources.ts";
import type { InputGroup, InputSource } from "../watch/input-source.ts";
import { type RegistryGroup, runRegistry } from "./publish-changes.ts";

const service = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: 80}]}
`;
const slice = (...addresses: readonly string[]) => `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [${addresses.map((address) => `{addresses: [${address}], conditions: {ready: true}}`).join(", ")}]
ports: [{name: http, port: 8080}]
`;

function entry(name: string): ConfigChange {
  const key = { kind: "ServiceEntry", namespace: "shop", name };
  const spec = { hosts: [`${name}.example`], ports: [{ number: 80, name: "http" }] };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
}

/** Configuration that the test supplies. */
function spoken() {
  const queue = new BoundedQueue<InputGroup>(10);
  const source: InputSource = {
    name: "configuration",
    problems: () => [],
    async *groups(stop) {
      stop.addEventListener("abort", () => queue.close(), { once: true });
      yield* queue;
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  return { source, emit: (...inputs: readonly ConfigChange[]) => queue.put({ inputs, eventTimeMs: 1 }) };
}

function short(group: RegistryGroup | undefined): string {
  const changes =
    group?.changes.map(({ type, op, key }) => `${type} ${op} ${"hostname" in key ? key.hostname : key.uid}`) ?? [];
  return [...(group?.snapshot ? ["all"] : []), ...(group?.urgent ? ["urgent"] : []), ...changes.sort()].join(", ");
}

test("the snapshot waits for directory and configuration; then each change says what it changes", async () => {
  const path = await mkdtemp(join(tmpdir(), "registry-"));
  await writeFile(join(path, "web.yaml"), service);
  await writeFile(join(path, "slice.yaml"), slice("10.1.0.1"));
  await using directory = objectDirectory({ path, onProblems: () => undefined });
  const configuration = spoken();
  const stop = new AbortController();
  const registry = new ClusterRegistries(defaultRegistrySettings);
  const groups = runRegistry(registry, [directory, configuration.source], timeLimit(30_000, stop.signal).signal);
  const next = async () => short((await groups.next()).value as RegistryGroup | undefined);

  const first = next();
  await configuration.emit(entry("a"));
  assert.equal(
    await first,
    "all, endpoints put web.shop.svc.cluster.local, service put a.example, service put web.shop.svc.cluster.local",
  );
  // A change that changes nothing makes no group.
  await configuration.emit(entry("a"));
  await configuration.emit(entry("b"));
  assert.equal(await next(), "service put b.example");
  await writeFile(join(path, "slice.yaml"), slice("10.1.0.1", "10.1.0.2"));
  assert.equal(await next(), "endpoints put web.shop.svc.cluster.local");
  await writeFile(join(path, "slice.yaml"), slice("10.1.0.2"));
  assert.equal(await next(), "urgent, endpoints put web.shop.svc.cluster.local");

  stop.abort();
  await groups.return();
  await rm(path, { recursive: true });
});
