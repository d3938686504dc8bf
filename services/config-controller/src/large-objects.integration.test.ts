/** Objects of megabytes over the API, on a real NATS: others are answered between the steps of their way to the stream and the history. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openLocalIssuer } from "@flotilla/auth";
import { createAuthority } from "@flotilla/auth/testing";
import { delay, until } from "@flotilla/runtime";
import { freePort, startNats } from "@flotilla/servers";
import { LongestTurn } from "./longest-turn.fixture.ts";
import { main } from "./main.ts";

/** Of 2.6 MB of JSON. In one turn from the body to the store, or from the stream to the history, it takes more. */
const routes = 20_000;
/** On a host that reads such an object in 40 ms, in proportion on a slower one. */
const longestMs = 100;
const usualReadMs = 40;

const collection = "/apis/networking.istio.io/v1/namespaces/shop/virtualservices";
const stop = new AbortController();
let directory: string;
let running: Promise<void>;
let call: (method: string, path: string, body: Buffer, type?: string) => Promise<number | undefined>;
let nats: Awaited<ReturnType<typeof startNats>>;

before(async () => {
  directory = mkdtempSync(join(tmpdir(), "large-objects-"));
  nats = await startNats({ env: process.env, directory });
  const { keyPem, chainPem, rootsPem } = await materialOf();
  const files = { API_CERT_FILE: join(directory, "api.crt"), API_KEY_FILE: join(directory, "api.key") };
  writeFileSync(files.API_CERT_FILE, chainPem);
  writeFileSync(files.API_KEY_FILE, keyPem, { mode: 0o600 });
  const [port, healthPort] = [await freePort(), await freePort()];
  const env = {
    ...{ BUS_URL: nats.url, WORK_DIR: directory, LOG_LEVEL: "silent", HEALTH_HOST: "127.0.0.1", ...files },
    ...{ HEALTH_PORT: String(healthPort), API_PORT: String(port) },
  };
  running = main(env, stop.signal);
  const isReady = async () => (await fetch(`http://127.0.0.1:${healthPort}/ready`)).ok;
  await until(isReady, { withinMs: 60_000, what: "config-controller", everyMs: 50 });
  const account = { namespace: "istio-system", serviceAccount: "flotilla-admin", audience: "flotilla-api" };
  const token = await (await openLocalIssuer(directory)).mintToken(account);
  call = (method, path, body, type = "application/json") => {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const headers = { authorization: `Bearer ${token}`, "content-type": type, "content-length": body.length };
    const asked = request({ host: "localhost", port, method, path, headers, ca: rootsPem, agent: false });
    asked.once("error", reject).once("response", (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    });
    asked.end(body);
    return promise;
  };
  // Memory of the start is released two seconds after it, by a collection of all garbage.
  await delay(3_000);
});

after(async () => {
  stop.abort();
  await running;
  await nats[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

describe(`a VirtualService of ${routes} routes`, () => {
  const one = `${collection}/large`;
  const asks = [
    ["that is created", "POST", collection, 1, 201],
    ["that is replaced", "PUT", one, 2, 200],
    ["that is patched", "PATCH", one, 3, 200, "application/merge-patch+json"],
  ] as const;
  for (const [name, method, path, weight, expected, type] of asks)
    it(`${name} takes no turn of the event loop of ${longestMs} ms`, async () => {
      const body = Buffer.from(JSON.stringify(virtualService(weight)));
      const limitMs = longestMs * Math.max(1, readMs(body) / usualReadMs);
      const turns = new LongestTurn();
      await delay(50);
      turns.begin();
      assert.equal(await call(method, path, body, type), expected);
      // Publishing it and keeping its history come after the answer.
      await delay(1_000);
      const took = turns.end();
      assert.ok(took < limitMs, `${Math.round(took)} ms, where ${Math.round(limitMs)} are allowed`);
    });
});

/** CPU time that this host takes to read the object's JSON: the shortest of three times. */
function readMs(body: Buffer): number {
  const times = Array.from({ length: 3 }, () => {
    const before = process.threadCpuUsage();
    JSON.parse(String(body));
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...times);
}

async function materialOf() {
  const authority = await createAuthority();
  return { ...(await authority.material(["localhost"])), rootsPem: authority.rootPem };
}

function virtualService(weight: number) {
  const route = [
    { destination: { host: "web" }, weight },
    { destination: { host: "x" }, weight: 100 - weight },
  ];
  const http = Array.from({ length: routes }, (_, at) => ({ match: [{ uri: { exact: `/${at}` } }], route }));
  return {
    ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService" },
    metadata: { name: "large", namespace: "shop" },
    spec: { hosts: ["web"], http },
  };
}
