/** The service as it runs: HTTPS on a free port, certificates from files and their reload, both pages, the bus from nothing. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import { connectBus, createPublisher } from "@flotilla/bus";
import { defaultMeshConfig } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { openIdle } from "@flotilla/testkit";
import { main } from "./main.ts";
import { selfSigned } from "./testing/self-signed.ts";

const stop = new AbortController();
const busUrl = "embedded:webhook-main-test";
let workDir = "";
let ports = { https: 0, health: 0 };
let running: Promise<void> = Promise.resolve();
const pairs = [selfSigned("localhost"), selfSigned("localhost")];

before(async () => {
  workDir = await mkdtemp(join(tmpdir(), "webhook-main-"));
  await writePair(0);
  const env = {
    WORK_DIR: workDir,
    WEBHOOK_HOST: "127.0.0.1",
    WEBHOOK_PORT: "0",
    HEALTH_HOST: "127.0.0.1",
    HEALTH_PORT: "0",
    BUS_URL: busUrl,
    TLS_CERT_FILE: join(workDir, "tls.crt"),
    TLS_KEY_FILE: join(workDir, "tls.key"),
    FILE_POLL_INTERVAL: "20ms",
  };
  const { promise, resolve } = Promise.withResolvers<void>();
  const onReady = (open: typeof ports): void => {
    ports = open;
    resolve();
  };
  running = main(env, stop.signal, { log: noopLogger, onReady });
  await Promise.race([promise, running]);
});

after(async () => {
  stop.abort();
  await running;
  await rm(workDir, { recursive: true });
});

async function writePair(index: number): Promise<void> {
  const { chainPem, keyPem } = await (pairs[index] as (typeof pairs)[number]);
  await writeFile(join(workDir, "tls.crt"), chainPem);
  await writeFile(join(workDir, "tls.key"), keyPem);
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly fingerprint: string;
  /** Of the connection. */
  readonly localPort: number | undefined;
}

function post(path: string, body: string, contentType = "application/json", agent?: Agent): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const options = {
    host: "127.0.0.1",
    port: ports.https,
    path,
    method: body === "" ? "GET" : "POST",
    headers: { "content-type": contentType },
    rejectUnauthorized: false,
    agent: agent ?? new Agent(),
  };
  const asked = request(options, (response) => {
    const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate();
    const { localPort } = response.socket;
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("end", () =>
      resolve({
        status: response.statusCode ?? 0,
        text: Buffer.concat(chunks).toString(),
        fingerprint: fingerprint256,
        localPort,
      }),
    );
  });
  asked.on("error", reject);
  asked.end(body);
  return promise;
}

function review(object: object, kind: object, apiVersion = "admission.k8s.io/v1"): string {
  const asked = { uid: "u1", kind, namespace: "shop", operation: "CREATE", object };
  return JSON.stringify({ apiVersion, kind: "AdmissionReview", request: asked });
}

const podKind = { group: "", version: "v1", kind: "Pod" };
const pod = (metadata: object = {}, spec: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { generateName: "web-", labels: { app: "web" }, ...metadata },
  spec: { containers: [{ name: "web", image: "web" }], ...spec },
});

interface Response {
  readonly apiVersion: string;
  readonly response: {
    readonly uid: string;
    readonly allowed: boolean;
    readonly patchType?: string;
    readonly patch?: string;
    readonly status?: { readonly message: string };
    readonly warnings?: readonly string[];
  };
}

async function ask(path: string, body: string): Promise<Response> {
  const { status, text } = await post(path, body);
  assert.equal(status, 200, text);
  return JSON.parse(text) as Response;
}

function patchOf({
  response,
}: Response): readonly { readonly op: string; readonly path: string; readonly value?: unknown }[] {
  return JSON.parse(Buffer.from(response.patch ?? "", "base64").toString());
}

describe("/inject", () => {
  for (const version of ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"]) {
    it(`answers an AdmissionReview of ${version} with a patch`, async () => {
      const answer = await ask("/inject", review(pod(), podKind, version));
      assert.equal(answer.apiVersion, version);
      const { uid, allowed, patchType } = answer.response;
      assert.deepEqual({ uid, allowed, patchType }, { uid: "u1", allowed: true, patchType: "JSONPatch" });
      const containers = patchOf(answer).find(({ path }) => path === "/spec/initContainers")?.value;
      assert.deepEqual(
        (containers as { name: string }[]).map(({ name }) => name),
        ["istio-init", "istio-proxy"],
      );
    });
  }

  it("reads environment of the proxy from its address", async () => {
    const text = JSON.stringify(patchOf(await ask("/inject/cluster/east/net/n--slash--1", review(pod(), podKind))));
    assert.match(text, /"name":"ISTIO_META_CLUSTER_ID","value":"east"/);
    assert.match(text, /"name":"ISTIO_META_NETWORK","value":"n\/1"/);
  });

  it("leaves a pod alone that does not want it", async () => {
    const answer = await ask("/inject", review(pod({ labels: { "sidecar.istio.io/inject": "false" } }), podKind));
    assert.deepEqual(answer.response, { uid: "u1", allowed: true });
  });

  it("warns of words that count as none", async () => {
    const { response } = await ask(
      "/inject",
      review(pod({ labels: {}, annotations: { "sidecar.istio.io/inject": "no" } }), podKind),
    );
    assert.deepEqual([response.allowed, response.warnings?.length, response.patchType], [true, 1, "JSONPatch"]);
    assert.match(response.warnings?.[0] ?? "", /sidecar\.istio\.io\/inject: is none of true, false: "no"/);
  });

  it("refuses what it cannot follow, with the reason", async () => {
    const annotations = { "traffic.sidecar.istio.io/includeInboundPorts": "eighty" };
    const { response } = await ask("/inject", review(pod({ annotations }), podKind));
    assert.equal(response.allowed, false);
    assert.match(
      response.status?.message ?? "",
      /traffic\.sidecar\.istio\.io\/includeInboundPorts: port invalid: "eighty"/,
    );
  });
});

describe("/validate", () => {
  const kind = { group: "networking.istio.io", version: "v1", kind: "ServiceEntry" };
  const entry = (spec: object): object => ({
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name: "a" },
    spec,
  });

  it("takes a good object", async () => {
    const { response } = await ask("/validate", review(entry({ hosts: ["a.example"] }), kind));
    assert.deepEqual(response, { uid: "u1", allowed: true });
  });

  it("refuses a wrong one, naming field and reason", async () => {
    const { response } = await ask("/validate/anything", review(entry({ host: ["a.example"] }), kind));
    assert.equal(
      response.status?.message,
      "configuration is invalid: spec.host: unknown field; spec.hosts: Required value",
    );
  });

  it("takes an object that has no effect, with a warning", async () => {
    const routeKind = { group: "gateway.networking.k8s.io", version: "v1", kind: "HTTPRoute" };
    const route = {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name: "f" },
      spec: { parentRefs: [{ group: "mesh.example", kind: "Mesh", name: "all" }] },
    };
    const { response } = await ask("/validate", review(route, routeKind));
    assert.equal(response.allowed, true);
    assert.match(response.warnings?.[0] ?? "", /^HTTPRoute .*has no effect: it has no Gateway/);
  });

  it("answers others while it validates an object of a megabyte, and names what is wrong in it", async () => {
    const http = Array.from({ length: 12_000 }, (_, at) => ({
      match: [{ uri: { exact: `/${at}` } }],
      route: [{ destination: { host: at === 11_000 ? "a b" : "web" } }],
    }));
    const routes = { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata: { name: "a" } };
    const large = review({ ...routes, spec: { hosts: ["a.example"], http } }, { ...kind, kind: "VirtualService" });
    const order: string[] = [];
    const refused = ask("/validate", large).then(({ response }) => {
      order.push("large");
      return response;
    });
    // The body has arrived when connections that begin later are answered.
    await ask("/validate", review(entry({ hosts: ["a.example"] }), kind));
    order.push("small");
    assert.match((await refused).status?.message ?? "", /^configuration is invalid: spec\.http\[11000\]\.route\[0\]/);
    assert.deepEqual(order, ["small", "large"]);
  });

  it("refuses an unknown kind", async () => {
    const { response } = await ask("/validate", review({}, { group: "example.com", version: "v1", kind: "Thing" }));
    assert.equal(response.status?.message, "unrecognized type example.com/v1 Thing");
  });
});

describe("requests that are no question", () => {
  const cases: readonly [name: string, path: string, body: string, contentType: string, status: number][] = [
    ["an empty body", "/inject", "", "application/json", 400],
    ["another content type", "/inject", "{}", "text/plain", 415],
    ["another page", "/other", "{}", "application/json", 404],
    ["a body that is no JSON", "/validate", "{", "application/json", 200],
  ];
  for (const [name, path, body, contentType, status] of cases) {
    it(`${name}: ${status}`, async () => assert.equal((await post(path, body, contentType)).status, status));
  }

  it("answers on a connection whose last body was too large", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      const large = JSON.stringify({ padding: "x".repeat(20 * 1024 * 1024) });
      for (let times = 0; times < 3; times++) {
        const refused = await post("/inject", large, "application/json", agent);
        assert.equal(refused.status, 413);
        const { status, localPort } = await post("/inject", review(pod(), podKind), "application/json", agent);
        assert.deepEqual([status, localPort], [200, refused.localPort]);
      }
    } finally {
      agent.destroy();
    }
  });

  it("keeps 1,024 silent connections of one address, and answers beside them", { timeout: 60_000 }, async () => {
    using silent = await openIdle(() => connect(ports.https, "127.0.0.1"), 1_100);
    await until(() => silent.left() <= 1_024, {
      withinMs: 30_000,
      what: "the bound of silent connections",
      everyMs: 5,
    });
    // After 10 s without a ClientHello all of them are closed.
    assert.ok(silent.left() > 1_000, `${silent.left()} were left`);
    assert.equal((await post("/inject", review(pod(), podKind))).status, 200);
  });

  it("reports what is wrong with a review", async () => {
    const { response } = await ask(
      "/inject",
      JSON.stringify({ apiVersion: "admission.k8s.io/v7", kind: "AdmissionReview" }),
    );
    assert.equal(response.allowed, false);
    assert.match(response.status?.message ?? "", /admission\.k8s\.io\/v7/);
  });
});

describe("the service", () => {
  it("is ready on both ports", async () => {
    assert.equal((await post("/ready", "")).status, 200);
    assert.equal((await fetch(`http://127.0.0.1:${ports.health}/ready`)).status, 200);
  });

  it("counts under the names that dashboards know", async () => {
    const text = await (await fetch(`http://127.0.0.1:${ports.health}/metrics`)).text();
    assert.match(text, /^sidecar_injection_success_total [1-9]/m);
    assert.match(text, /^galley_validation_failed\{.*reason="invalid_resource".*\} 1$/m);
    assert.match(text, /^galley_validation_http_error\{status="415"\} 1$/m);
  });

  it("shows the text of the injection templates in use", async () => {
    const answer = await fetch(`http://127.0.0.1:${ports.health}/debug/inject`);
    assert.equal(answer.status, 200);
    const templates = (await answer.json()) as Readonly<Record<string, string>>;
    assert.ok("gateway" in templates);
    assert.match(templates["sidecar"] ?? "", /name: istio-proxy/);
  });

  it("takes the mesh configuration from the bus", async () => {
    await using bus = await connectBus({ url: busUrl, clientName: "test", log: noopLogger }, stop.signal);
    const publisher = createPublisher({
      bus,
      publisher: "config-controller",
      seal: undefined,
      log: noopLogger,
      nowMs: Date.now,
    });
    const key = { kind: "MeshConfig", namespace: "", name: "mesh" };
    const spec = { ...defaultMeshConfig, trustDomain: "from.bus" };
    const value = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec };
    await publisher.publish([{ type: "config", op: "put", key, value }], { eventTimeMs: Date.now() });
    const isThere = async (): Promise<boolean> =>
      JSON.stringify(patchOf(await ask("/inject", review(pod(), podKind)))).includes("from.bus");
    assert.ok(await until(isThere, { withinMs: 30_000, what: "the trust domain in the patch" }));
  });

  it("shows a new certificate on new connections and keeps the open ones", async () => {
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    const before = await post("/ready", "", "", kept);
    await writePair(1);
    const isNew = async (): Promise<boolean> => (await post("/ready", "")).fingerprint !== before.fingerprint;
    assert.ok(await until(isNew, { withinMs: 30_000, what: "the new certificate" }));
    const after = await post("/ready", "", "", kept);
    assert.equal(after.fingerprint, before.fingerprint);
    kept.destroy();
  });
});
