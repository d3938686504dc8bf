/** Against an API server of a few lines; kubernetes.integration.test.ts has a real one. */
import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { openKubeApi } from "@flotilla/kube-api";
import { noopLogger, until } from "@flotilla/runtime";
import type { ConfigGroup } from "../config-source.ts";
import { configAdmission } from "../config-source.ts";
import { kubernetesConfig } from "./kubernetes-source.ts";

const root = "/apis/networking.istio.io/v1";
const spec = { hosts: ["a"], http: [{ route: [{ destination: { host: "a" } }] }] };
const objects = new Map<string, unknown>();
const watchers = new Set<ServerResponse>();
let isServed = true;
/** How often the kinds were looked for while there was none. */
let looksInVain = 0;
let version = 1;

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://api");
  const send = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body));
  if (pathname === root && !isServed) looksInVain++;
  if (pathname === root && isServed) send(200, { resources: [{ name: "virtualservices" }] });
  else if (pathname === `${root}/virtualservices` && isServed) {
    if (searchParams.has("watch")) {
      response.writeHead(200).flushHeaders();
      watchers.add(response);
      response.once("close", () => watchers.delete(response));
    } else send(200, { metadata: { resourceVersion: String(version) }, items: [...objects.values()] });
  } else send(404, { message: "not found" });
});
await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
after(() => {
  server.closeAllConnections();
  server.close();
});

function object(name: string, more: object = {}): object {
  const metadata = { name, namespace: "shop", resourceVersion: String(++version) };
  return { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata, spec, ...more };
}
function report(type: string, one: object): void {
  for (const watcher of watchers) watcher.write(`${JSON.stringify({ type, object: one })}\n`);
}

test("kinds are listed and followed; one that vanishes and comes back within a while takes nothing away", async () => {
  const { port } = server.address() as AddressInfo;
  const api = openKubeApi({ server: `http://127.0.0.1:${port}`, credentials: async () => ({}) });
  let now = 1_000;
  await using source = kubernetesConfig({
    ...{ api, admission: configAdmission(), revision: "default", log: noopLogger },
    ...{ nowMs: () => now, random: Math.random, onProblems: () => undefined, discoverMs: 20, vanishedKindMs: 1_000 },
  });
  const stop = new AbortController();
  const groups: ConfigGroup[] = [];
  const running = (async () => {
    for await (const group of source.groups(stop.signal)) groups.push(group);
  })();
  const reported = () => groups.map(({ changes }) => changes.map(({ op, key }) => `${op} ${key.name}`).join(" "));
  const soon = (what: string) => ({ withinMs: 30_000, what });
  const vanishes = async () => {
    isServed = false;
    looksInVain = 0;
    for (const watcher of watchers) watcher.end();
    await until(() => watchers.size === 0, soon("the watch to end"));
    // The second look begins after the first was evaluated.
    await until(() => looksInVain >= 2, soon("looks for the kind"));
  };

  objects.set("a", object("a"));
  await until(() => groups.length === 1 && watchers.size === 1, soon("the first group"));
  assert.deepEqual(reported(), ["put a"]);

  // A watch carries no transaction: what comes within milliseconds is one group.
  for (const name of ["b", "d"]) {
    objects.set(name, object(name));
    report("ADDED", objects.get(name) as object);
  }
  report("ADDED", object("c", { spec: { hosts: 1 } }));
  await until(() => groups.length === 2 && source.problems().length === 1, soon("the event"));
  assert.deepEqual(reported(), ["put a", "put b put d"]);
  assert.equal(source.problems()[0]?.object, "VirtualService/shop/c");

  await vanishes();
  isServed = true;
  objects.set("b", object("b"));
  await until(() => watchers.size === 1, soon("the kind to be followed again"));
  await until(() => groups.length === 3, soon("the list"));
  assert.equal(reported().join().includes("delete"), false);

  await vanishes();
  now += 2_000;
  await until(() => reported().at(-1)?.includes("delete") === true, soon("the objects to go"));
  assert.equal(reported().at(-1), "delete a delete b delete d");
  stop.abort();
  await running;
});

test("a list that takes several turns is one group, and others have their turn meanwhile", async () => {
  const { port } = server.address() as AddressInfo;
  objects.clear();
  isServed = true;
  await using source = kubernetesConfig({
    api: openKubeApi({ server: `http://127.0.0.1:${port}`, credentials: async () => ({}) }),
    ...{ admission: configAdmission(), revision: "default", log: noopLogger, onProblems: () => undefined },
    ...{ nowMs: Date.now, random: Math.random, discoverMs: 20 },
  });
  const stop = new AbortController();
  const sizes: number[] = [];
  const running = (async () => {
    for await (const { changes, isComplete } of source.groups(stop.signal))
      if (isComplete !== true) sizes.push(changes.length);
  })();
  await until(() => watchers.size === 1, { withinMs: 30_000, what: "the watch" });
  for (let n = 0; n < 2_000; n++) objects.set(`l${n}`, object(`l${n}`));
  let turns = 0;
  const ticking = setInterval(() => turns++, 1);
  report("ERROR", { code: 410, metadata: {} });
  await until(() => sizes.length > 0, { withinMs: 30_000, what: "the list" });
  clearInterval(ticking);
  assert.deepEqual(sizes, [2_000]);
  assert.ok(turns > 3, `${turns} turns of others`);
  stop.abort();
  await running;
});
