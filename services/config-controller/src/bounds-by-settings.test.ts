/** Bounds of the API that are set through the environment of config-controller hold at their new values. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ClientRequest, IncomingMessage } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openLocalIssuer } from "@flotilla/auth";
import { createAuthority } from "@flotilla/auth/testing";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { main } from "./main.ts";

const collection = "/apis/networking.istio.io/v1/namespaces/shop/sidecars";
const stop = new AbortController();
let directory: string;
let running: Promise<void>;
let ask: (method: string, path: string, body?: object) => ClientRequest;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "controller-bounds-"));
  const authority = await createAuthority();
  const { keyPem, chainPem } = await authority.material(["localhost"]);
  const files = { API_CERT_FILE: join(directory, "api.crt"), API_KEY_FILE: join(directory, "api.key") };
  await writeFile(files.API_CERT_FILE, chainPem);
  await writeFile(files.API_KEY_FILE, keyPem, { mode: 0o600 });
  const port = await freePorts(2);
  const env = {
    ...{ BUS_URL: "embedded:config-controller-bounds", WORK_DIR: directory, LOG_LEVEL: "silent", ...files },
    ...{ HEALTH_HOST: "127.0.0.1", HEALTH_PORT: String(port), API_PORT: String(port + 1) },
    ...{ API_MAX_OBJECTS: "3", API_MAX_WAITING: "2", API_MAX_WATCHES: "2" },
  };
  running = main(env, stop.signal);
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/ready`)).ok;
  await until(isReady, { withinMs: 60_000, what: "config-controller", everyMs: 20 });
  const account = { namespace: "istio-system", serviceAccount: "flotilla-admin", audience: "flotilla-api" };
  const headers = { authorization: `Bearer ${await (await openLocalIssuer(directory)).mintToken(account)}` };
  const at = { host: "localhost", port: port + 1, ca: authority.rootPem, agent: false };
  ask = (method, path, body) => {
    const asked = request({ ...at, method, path, headers: { ...headers, "content-type": "application/json" } });
    asked.on("error", () => undefined).end(body && JSON.stringify(body));
    return asked;
  };
});
after(async () => {
  stop.abort();
  await running;
  await rm(directory, { recursive: true });
});

function open(method: string, path: string, body?: object): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  ask(method, path, body).once("response", resolve).once("error", reject);
  return promise;
}

async function statusOf(method: string, path: string, body?: object): Promise<number | undefined> {
  const response = await open(method, path, body);
  return response.resume().statusCode;
}

const sidecar = (name: string, port = 80) => ({
  ...{ apiVersion: "networking.istio.io/v1", kind: "Sidecar", metadata: { name, namespace: "shop" } },
  spec: { egress: [{ port: { number: port, protocol: "HTTP", name: "http" }, hosts: ["*/*"] }] },
});

describe("the API as it is set", () => {
  it("API_MAX_OBJECTS: the object beyond it is refused, others change, and there is room when one has gone", async () => {
    const create = (name: string) => statusOf("POST", collection, sidecar(name));
    assert.deepEqual(
      [await create("a"), await create("b"), await create("c"), await create("d")],
      [201, 201, 201, 413],
    );
    assert.equal(await statusOf("PUT", `${collection}/a`, sidecar("a", 81)), 200);
    assert.equal(await statusOf("DELETE", `${collection}/c`), 200);
    assert.equal(await create("d"), 201);
  });

  it("API_MAX_WAITING: of writes that come together those beyond it are refused with 429", async () => {
    const codes = new Set<number | undefined>();
    const isReached = async (): Promise<boolean> => {
      const writes = Array.from({ length: 32 }, (_, at) =>
        statusOf("PUT", `${collection}/a`, sidecar("a", 1_000 + at)),
      );
      for (const code of await Promise.all(writes)) codes.add(code);
      return codes.has(429);
    };
    await until(isReached, { withinMs: 30_000, what: "a refusal" });
    assert.deepEqual([...codes].sort(), [200, 429]);
  });

  it("API_MAX_WATCHES: the watch beyond it is refused with 429, and taken when another has ended", async () => {
    const watch = () => open("GET", `${collection}?watch=true`);
    const [first, second] = [await watch(), await watch()];
    assert.deepEqual([first.statusCode, second.statusCode, (await watch()).statusCode], [200, 200, 429]);
    first.destroy();
    const isTaken = async () => {
      const next = await watch();
      next.destroy();
      return next.statusCode === 200;
    };
    await until(isTaken, { withinMs: 30_000, what: "room for a watch", everyMs: 20 });
    second.destroy();
  });
});
