/** GatewayClasses of the mesh in an API server that keeps objects in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInClasses, defaultClassSettings } from "@flotilla/gateway-api";
import { KubeError, type KubeObject } from "@flotilla/kube-api";
import { createMemoryApi, type MemoryApi } from "@flotilla/kube-api/memory";
import { noopLogger, until } from "@flotilla/runtime";
import { keepGatewayClasses } from "./gateway-classes.ts";

const root = "/apis/gateway.networking.k8s.io/v1/gatewayclasses";
const classes = builtInClasses(defaultClassSettings);

async function keeping(memory: MemoryApi, check: () => Promise<unknown>) {
  const stop = new AbortController();
  const running = keepGatewayClasses({ api: memory.api, classes, log: noopLogger, random: () => 0 }, stop.signal);
  try {
    await check();
  } finally {
    stop.abort();
    await running;
  }
}

const made = ({ writes }: MemoryApi) => writes.map(({ object }) => (object as KubeObject).metadata.name);
const written = (memory: MemoryApi, count: number) =>
  until(() => memory.writes.length >= count, { withinMs: 20_000, everyMs: 2, what: `${count} writes` });

test("classes that are missing are made, and again when somebody deletes one", async () => {
  const memory = createMemoryApi({ [`${root}/istio`]: { spec: { controllerName: "example.com/own" } } });
  const missing = [...classes.keys()].filter((name) => name !== "istio");
  await keeping(memory, async () => {
    await written(memory, missing.length);
    assert.deepEqual(made(memory), missing);
    memory.remove(`${root}/${missing[0]}`);
    await written(memory, missing.length + 1);
  });
  assert.equal(made(memory).at(-1), missing[0]);
  const remains = memory.read<{ spec: { controllerName: string } }>(`${root}/istio`);
  assert.equal(remains?.spec.controllerName, "example.com/own");
});

test("a kind that has objects is served, which is not asked again", async () => {
  const memory = createMemoryApi({ [`${root}/own`]: { spec: { controllerName: "example.com/own" } } });
  memory.refusal = ({ path }) =>
    path.endsWith("?limit=1") ? new KubeError("KUBE_REFUSED", "too many requests", { status: 429 }) : undefined;
  await keeping(memory, () => written(memory, classes.size));
  assert.deepEqual(new Set(made(memory)), new Set(classes.keys()));
});

test("a class that cannot be made does not keep others from being made", async () => {
  const memory = createMemoryApi();
  let isFirst = true;
  memory.refusal = ({ verb }) => {
    if (verb !== "create" || !isFirst) return undefined;
    isFirst = false;
    return new KubeError("KUBE_REFUSED", "forbidden", { status: 403 });
  };
  await keeping(memory, () => written(memory, classes.size));
  assert.deepEqual(new Set(made(memory)), new Set(classes.keys()));
});

test("nothing is made where the kind is not served", async () => {
  const memory = createMemoryApi();
  let asked = 0;
  memory.refusal = ({ path }) => {
    if (!path.startsWith(root)) return undefined;
    asked += 1;
    return new KubeError("KUBE_REFUSED", "the server could not find the requested resource", { status: 404 });
  };
  await keeping(memory, () => until(() => asked > 1, { withinMs: 20_000, everyMs: 2, what: "the kind is asked for" }));
  assert.deepEqual(memory.writes, []);
});
