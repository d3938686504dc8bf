/** The API as it runs: over a store on an embedded bus, with a certificate of files, for tokens of the local and of another issuer. */
import assert from "node:assert/strict";
import { createPublicKey, sign } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { openLocalIssuer } from "@flotilla/auth";
import type { OwnCertificate } from "@flotilla/auth/serving";
import { createAuthority } from "@flotilla/auth/testing";
import { type Bus, connectBus, createSeal, type Seal } from "@flotilla/bus";
import { generatePrivateKey } from "@flotilla/pki";
import {
  createMetrics,
  FailingWork,
  type Health,
  type HttpHandler,
  noopLogger,
  parseSettings,
  until,
} from "@flotilla/runtime";
import { AggregateStore } from "../aggregate/aggregate-store.ts";
import { root, virtualService } from "./api.fixture.ts";
import { type ApiSettings, apiSettings } from "./api-settings.ts";
import { declareApiMetrics } from "./observe.ts";
import { type ApiOptions, openApiStore, runApi } from "./run-api.ts";

const authority = await createAuthority();
const within = { withinMs: 20_000, everyMs: 2 };
const otherKey = await generatePrivateKey("ecdsa-p256");
let workDir: string;
let count = 0;

before(async () => {
  workDir = await mkdtemp(join(tmpdir(), "run-api-"));
  const { keyPem, chainPem } = await authority.material(["localhost"]);
  await writeFile(join(workDir, "tls.crt"), chainPem);
  await writeFile(join(workDir, "tls.key"), keyPem);
  const { kty, crv, x, y } = createPublicKey(otherKey).export({ format: "jwk" });
  const keys = [{ ...{ kty, crv, x, y }, alg: "ES256", use: "sig", kid: "1" }];
  await writeFile(join(workDir, "other.json"), JSON.stringify({ keys }));
});
after(() => rm(workDir, { recursive: true }));

const files = () => ({ API_CERT_FILE: join(workDir, "tls.crt"), API_KEY_FILE: join(workDir, "tls.key") });
const otherIssuer = "https://issuer.test";
const otherRule = () => ({
  API_JWT_RULE: JSON.stringify({ issuer: otherIssuer, jwksFile: join(workDir, "other.json") }),
});

/** A token of the other issuer for the account that may write. */
async function otherToken(audience: string): Promise<string> {
  const account = { namespace: "istio-system", serviceaccount: { name: "flotilla-admin" } };
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const claims = {
    ...{ iss: otherIssuer, sub: "system:serviceaccount:istio-system:flotilla-admin", aud: [audience] },
    ...{ iat: nowSeconds, exp: nowSeconds + 3_600, "kubernetes.io": account },
  };
  const encoded = [{ alg: "ES256", kid: "1" }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  const signature = sign("sha256", Buffer.from(encoded.join(".")), { key: otherKey, dsaEncoding: "ieee-p1363" });
  return [...encoded, signature.toString("base64url")].join(".");
}

async function localToken(audience: string): Promise<string> {
  const issuer = await openLocalIssuer(workDir);
  return issuer.mintToken({ namespace: "istio-system", serviceAccount: "flotilla-admin", audience });
}

/** A source of files before the API has one object. */
function viewWithFile() {
  const order = ["file:mesh", "api"];
  const store = new AggregateStore(order);
  const { spec } = virtualService("f", "f.test");
  const key = { kind: "VirtualService", namespace: "shop", name: "f" };
  store.apply("file:mesh", [
    { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } },
  ]);
  return { order, store };
}

async function running(env: Readonly<Record<string, string>> = {}, seal: Seal | undefined = undefined) {
  const view = viewWithFile();
  const settings: ApiSettings = parseSettings(apiSettings, { WORK_DIR: workDir, ...files(), ...env });
  const stop = new AbortController();
  const bus = await connectBus({ url: `embedded:run-api-${++count}`, clientName: "t", log: noopLogger }, stop.signal);
  const conditions = new Map<string, string | undefined>();
  const pages = new Map<string, HttpHandler>();
  const health = {
    setCondition: (name: string, detail: string | undefined) => void conditions.set(name, detail),
    route: (_: string, path: string, handler: HttpHandler) => void pages.set(path, handler),
  } as unknown as Health;
  const metrics = createMetrics();
  const common = { bus, seal, health, failures: new FailingWork(metrics, health), log: noopLogger };
  const durable =
    (await openApiStore({ ...settings, apiPort: 1, podName: `replica-${count}` }, common, stop.signal)) ??
    assert.fail("no store");
  const options: ApiOptions = {
    ...{ ...common, settings, durable, compareEveryMs: 60_000, order: view.order, view: view.store },
    ...{ metrics: declareApiMetrics(metrics), certificate: {} as OwnCertificate },
  };
  const serving = runApi(options, stop.signal);
  serving.catch(() => undefined);
  const pageOf = async (remoteAddress: string) => {
    const handler = pages.get("/debug/api") ?? assert.fail("no page");
    const asked = { method: "GET", path: "/debug/api", query: new URLSearchParams(), headers: {} } as const;
    const reply = await handler({ ...asked, body: new Uint8Array(), remoteAddress });
    return { status: reply.status, json: "json" in reply ? reply.json : undefined };
  };
  const url = await until(
    async () => ((await pageOf("127.0.0.1")).json as { readonly url: string | null }).url ?? undefined,
    { ...within, what: "the address" },
  );
  const ask = async (token: string, path: string, method = "GET", body?: object) => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const options = { method, headers, ca: authority.rootPem, agent: false };
    request(`${url}${path}`, options, resolve)
      .once("error", reject)
      .end(body && JSON.stringify(body));
    const reply = await promise;
    // biome-ignore lint/suspicious/noExplicitAny: answers have all shapes.
    return { status: reply.statusCode, body: (await json(reply)) as any };
  };
  const call = async (token: string, method?: string, body?: object): Promise<number | undefined> =>
    (await ask(token, `${root}/virtualservices`, method, body)).status;
  return {
    ...{ ask, call, conditions, durable, pageOf, url, serving },
    stop: () => stop.abort(new Error("the end of the test")),
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error("the end of the test"));
      await serving.catch(() => undefined);
      await (bus as Bus)[Symbol.asyncDispose]();
    },
  };
}

/** A bus whose first answer is a failure. */
async function unreadOnce(failure: unknown) {
  const settings: ApiSettings = parseSettings(apiSettings, { WORK_DIR: workDir });
  const stop = new AbortController();
  const bus = await connectBus({ url: `embedded:run-api-${++count}`, clientName: "t", log: noopLogger }, stop.signal);
  const failures = [failure];
  const failing = new Proxy(bus, {
    get: (target, name) =>
      name === "keyValue"
        ? async (...args: Parameters<Bus["keyValue"]>) => {
            for (const one of failures.splice(0)) throw one;
            return target.keyValue(...args);
          }
        : Reflect.get(target, name, target),
  });
  const reported: (string | undefined)[] = [];
  const setCondition = (name: string, detail: string | undefined) => void (name === "api" && reported.push(detail));
  const health = { setCondition } as unknown as Health;
  const work = new FailingWork(createMetrics(), health);
  return {
    ...{ settings, stop, reported },
    options: { bus: failing, seal: undefined, health, failures: work, log: noopLogger },
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error("the end of the test"));
      await bus[Symbol.asyncDispose]();
    },
  };
}

describe("the API", () => {
  const audience = "flotilla-api";
  const cases = [
    { name: "a token of the local issuer", token: () => localToken(audience), env: () => ({}), status: 200 },
    { name: "one beside another issuer", token: () => localToken(audience), env: otherRule, status: 200 },
    { name: "one for another audience", token: () => localToken("istio-ca"), env: () => ({}), status: 401 },
    { name: "a token of the issuer that is set", token: () => otherToken(audience), env: otherRule, status: 200 },
    { name: "one of it for another audience", token: () => otherToken("istio-ca"), env: otherRule, status: 401 },
    { name: "one of an issuer that is not set", token: () => otherToken(audience), env: () => ({}), status: 401 },
  ];
  for (const { name, token, env, status } of cases)
    it(`answers ${name} with ${status}`, async () => {
      await using it = await running(env());
      assert.equal(await it.call(await token()), status);
    });

  it("stores what is written, once it is valid", async () => {
    await using it = await running();
    const token = await localToken(audience);
    assert.equal(await it.call(token, "POST", { ...virtualService("a", "a.test"), spec: { hosts: 1 } }), 422);
    assert.equal(await it.call(token, "POST", virtualService("a", "a.test")), 201);
    assert.equal(await it.call(token, "POST", virtualService("a", "a.test")), 409);
    const stored = await it.durable.store.list("VirtualService", "");
    assert.deepEqual(
      stored.map(({ key }) => key.name),
      ["a"],
    );
  });

  it("makes up the end of a name, five characters of it", async () => {
    await using it = await running();
    const { metadata, ...rest } = virtualService("a", "a.test");
    const named = { ...rest, metadata: { namespace: metadata.namespace, generateName: "web-" } };
    const { status, body } = await it.ask(await localToken(audience), `${root}/virtualservices`, "POST", named);
    assert.equal(status, 201);
    assert.match(body.metadata.name, /^web-[0-9a-f]{5}$/);
  });

  it("shows what is in force of each source, the first of which wins", async () => {
    await using it = await running();
    const token = await localToken(audience);
    assert.equal(await it.call(token, "POST", virtualService("a", "a.test")), 201);
    const written = await it.ask(token, `${root}/virtualservices`, "POST", virtualService("f", "other.test"));
    assert.equal(written.status, 201);
    const { body } = await it.ask(token, "/flotilla/v1/in-force/VirtualService");
    const hosts = body.items.map(({ object }: { object: { spec: { hosts: string[] } } }) => object.spec.hosts[0]);
    assert.deepEqual(hosts.toSorted(), ["a.test", "f.test"]);
  });

  it("writes what was stored before again, with codes, where there is a seal key, and marks that", async () => {
    const marked = join(workDir, "config-controller", "signed-values");
    for (const seal of [undefined, createSeal("a key")]) {
      assert.equal(existsSync(marked), false);
      await using it = await running({}, seal);
      assert.equal(await it.call(await localToken(audience)), 200);
    }
    assert.equal(existsSync(marked), true);
  });

  it("shows its address and its account on a page for this host alone", async () => {
    await using it = await running();
    const account = "flotilla-config-controller.istio-system.svc";
    assert.deepEqual((await it.pageOf("127.0.0.1")).json, { url: it.url, service: account });
    assert.equal((await it.pageOf("10.0.0.7")).status, 403);
    assert.equal(it.conditions.get("api"), undefined);
  });

  for (const { name, failure, reason } of [
    { name: "an error", failure: new Error("no stream"), reason: "no stream" },
    { name: "a text", failure: "no stream", reason: "no stream" },
  ])
    it(`reports that its store cannot be read, for ${name}, and reads it again`, async () => {
      await using it = await unreadOnce(failure);
      const store = await openApiStore({ ...it.settings, apiPort: 1 }, it.options, it.stop.signal);
      assert.deepEqual(it.reported, [`objects written over it cannot be read: ${reason}`]);
      assert.deepEqual(await store?.store.list("VirtualService", ""), []);
    });

  it("has no store without a port", async () => {
    await using it = await unreadOnce(new Error("not asked"));
    assert.equal(await openApiStore(it.settings, it.options, it.stop.signal), undefined);
    assert.deepEqual(it.reported, []);
  });

  it("ends with its reason", async () => {
    await using it = await running();
    it.stop();
    await it.serving;
    await assert.rejects(it.call("t"), { code: "ECONNREFUSED" });
  });
});
