/**
 * `node services/config-controller/bench/large-objects.ts [--routes N]`: how long the event loop of a config-controller stands still while one large
 * VirtualService is written, changed, patched, applied and read over the API, and published to a real NATS. The client is in a thread of
 * its own. `longestMs` is the most CPU time that the main thread takes in one turn of the event loop, until a second after the answer: others
 * wait for that long, whatever else the machine does.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { openLocalIssuer } from "@flotilla/auth";
import {
  certificatePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  privateKeyPem,
  sanOf,
  spkiOf,
} from "@flotilla/pki";
import { delay, until } from "@flotilla/runtime";
import { freePort, startNats } from "@flotilla/servers";

import { LongestTurn } from "../src/longest-turn.fixture.ts";
import { main } from "../src/main.ts";

interface Client {
  readonly port: number;
  readonly token: string;
  readonly rootPem: string;
}

interface Ask {
  readonly method: string;
  readonly path: string;
  readonly type?: string;
  /** Routes of the VirtualService that is sent; none: no body. */
  readonly routes?: number;
  readonly weight?: number;
}

const collection = "/apis/networking.istio.io/v1/namespaces/bench/virtualservices";
async function bench(): Promise<void> {
  const { values } = parseArgs({ options: { routes: { type: "string", default: "50000" } } });
  const routes = Number(values.routes);
  const directory = mkdtempSync(join(tmpdir(), "flotilla-large-"));
  const stop = new AbortController();
  try {
    await using nats = await startNats({ env: process.env, directory });
    const [apiPort, healthPort] = [await freePort(), await freePort()];
    const { rootPem, certificatePem: chainPem, keyPem } = await keyPair();
    const files = { API_CERT_FILE: join(directory, "api.crt"), API_KEY_FILE: join(directory, "api.key") };
    writeFileSync(files.API_CERT_FILE, chainPem);
    writeFileSync(files.API_KEY_FILE, keyPem, { mode: 0o600 });
    const env = {
      ...{ BUS_URL: nats.url, WORK_DIR: directory, LOG_LEVEL: "warn", HEALTH_HOST: "127.0.0.1", ...files },
      ...{ HEALTH_PORT: String(healthPort), API_PORT: String(apiPort) },
    };
    const running = main(env, stop.signal);
    const isReady = async () => (await fetch(`http://127.0.0.1:${healthPort}/ready`)).ok;
    await until(isReady, { withinMs: 60_000, what: "config-controller", everyMs: 50 });
    const account = { namespace: "istio-system", serviceAccount: "flotilla-admin", audience: "flotilla-api" };
    const token = await (await openLocalIssuer(directory)).mintToken(account);
    const client = { port: apiPort, token, rootPem };
    const worker = new Worker(new URL(import.meta.url), { workerData: client });
    const one = `${collection}/large`;
    const asks: readonly (readonly [string, Ask])[] = [
      ["created", { method: "POST", path: collection, routes }],
      ["the same again", { method: "PUT", path: one, routes }],
      ["changed", { method: "PUT", path: one, routes, weight: 2 }],
      ["patched", { method: "PATCH", path: one, type: "application/merge-patch+json", routes, weight: 3 }],
      [
        "applied",
        { method: "PATCH", path: `${one}?fieldManager=a&force=true`, type: "application/apply-patch+json", routes },
      ],
      ["read", { method: "GET", path: one }],
      ["listed", { method: "GET", path: collection }],
      ["deleted", { method: "DELETE", path: one }],
    ];
    for (const [name, ask] of asks) await measure(worker, name, ask);
    await worker.terminate();
    stop.abort();
    await running;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measure(worker: Worker, name: string, ask: Ask): Promise<void> {
  const turns = new LongestTurn();
  const { promise, resolve } = Promise.withResolvers<{ readonly status: number; readonly bytes: number }>();
  worker.once("message", resolve);
  await delay(200);
  turns.begin();
  const from = performance.now();
  worker.postMessage(ask);
  const { status, bytes } = await promise;
  const answeredMs = Math.round(performance.now() - from);
  // Publishing, writing out and comparing afterwards count as well.
  await delay(1_000);
  const longestMs = Math.round(turns.end());
  const load = Math.round((loadavg()[0] ?? 0) * 10) / 10;
  process.stdout.write(`${JSON.stringify({ name, status, bytes, answeredMs, longestMs, load })}\n`);
}

function answerAsks({ port, token, rootPem }: Client): void {
  parentPort?.on("message", ({ method, path, type = "application/json", routes, weight = 1 }: Ask) => {
    const body = routes === undefined ? "" : JSON.stringify(virtualService(routes, weight));
    const headers = {
      ...{ authorization: `Bearer ${token}`, "content-type": type, "content-length": Buffer.byteLength(body) },
    };
    request({ host: "localhost", port, method, path, headers, ca: rootPem, agent: false }, (response) => {
      let received = 0;
      let head = "";
      response.on("data", (part: Buffer) => {
        received += part.length;
        head ||= part.toString("utf8", 0, 500);
      });
      response.once("end", () => {
        const { statusCode: status = 0 } = response;
        if (status >= 300) process.stdout.write(`${head}\n`);
        parentPort?.postMessage({ status, bytes: Math.max(received, body.length) });
      });
    }).end(body);
  });
}

/** Of `localhost`, with the root that it is trusted by. */
async function keyPair() {
  const [rootKey, key] = [await generatePrivateKey("ecdsa-p256"), await generatePrivateKey("ecdsa-p256")];
  const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 86_400_000 };
  const root = issueRoot({ serial: randomBytes(16), subject: { commonName: "bench" }, ...times }, rootKey);
  const leaf = { serial: randomBytes(16), spki: spkiOf(key), sans: [sanOf("localhost")], ...times };
  const der = issueLeaf(leaf, issuerOf(root, rootKey));
  return { rootPem: certificatePem(root), certificatePem: certificatePem({ der }), keyPem: privateKeyPem(key) };
}

function virtualService(count: number, weight: number) {
  const route = [
    { destination: { host: "web" }, weight },
    { destination: { host: "x" }, weight: 100 - weight },
  ];
  const http = Array.from({ length: count }, (_, at) => ({ match: [{ uri: { exact: `/${at}` } }], route }));
  return {
    ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService" },
    metadata: { name: "large", namespace: "bench" },
    spec: { hosts: ["web"], http },
  };
}

if (isMainThread) await bench();
else answerAsks(workerData as Client);
