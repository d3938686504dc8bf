/** The registries that are read, of those that are configured. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, noopLogger, parseSettings } from "@flotilla/runtime";
import { declareMetrics } from "../metrics.ts";
import { settings } from "../settings.ts";
import { consul, kubernetes } from "./open-registries.ts";

const cluster = { server: "https://own", credentials: () => Promise.resolve({ token: "own" }) };

async function readWith(REGISTRIES: string): Promise<readonly string[]> {
  const parsed = parseSettings(settings, { CONSUL_HTTP_ADDR: "http://127.0.0.1:8500", REGISTRIES });
  const metrics = declareMetrics(createMetrics());
  const sources = [
    ...(await kubernetes(cluster, parsed, metrics, noopLogger, () => undefined)),
    ...(await consul(parsed, noopLogger, () => undefined)),
  ];
  await Promise.all(sources.map((source) => source[Symbol.asyncDispose]()));
  return sources.map(({ name }) => name);
}

test("all registries that are configured are read, or those that --registries names", async () => {
  assert.deepEqual(await readWith(""), ["kubernetes", "consul"]);
  assert.deepEqual(await readWith("Kubernetes,Consul"), ["kubernetes", "consul"]);
  assert.deepEqual(await readWith("Kubernetes"), ["kubernetes"]);
  assert.deepEqual(await readWith("Consul"), ["consul"]);
  await assert.rejects(readWith("Kubernetes, Mock"), /REGISTRIES.*Mock is not one of Kubernetes, Consul/);
});
