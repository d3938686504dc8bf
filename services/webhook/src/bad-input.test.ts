/**
 * What a hostile or mistaken client can send, and templates that cannot be used, through the real port: each gets a bounded answer, the process
 * stays, and so does its memory. The time of each answer is printed and not judged: a busy machine is no fault of the code (docs/benchmarks.md).
 */
import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { builtInDocuments } from "@flotilla/injection";
import { type Logger, noopLogger, until } from "@flotilla/runtime";
import { main } from "./main.ts";
import { selfSigned } from "./testing/self-signed.ts";

const stop = new AbortController();
const warnings: string[] = [];
const failures: unknown[] = [];
const log: Logger = {
  ...noopLogger,
  child: () => log,
  warn: (event, fields) => void warnings.push(`${event} ${JSON.stringify(fields)}`),
  error: (event, fields) => failures.push(event, fields),
};
let workDir = "";
let port = 0;
let running: Promise<void> = Promise.resolve();
const configFile = () => join(workDir, "config.yaml");

before(async () => {
  workDir = await mkdtemp(join(tmpdir(), "webhook-bad-input-"));
  const { chainPem, keyPem } = await selfSigned("localhost");
  await writeFile(join(workDir, "tls.crt"), chainPem);
  await writeFile(join(workDir, "tls.key"), keyPem);
  await writeFile(configFile(), (await builtInDocuments()).config);
  const env = {
    ...{ WORK_DIR: workDir, WEBHOOK_HOST: "127.0.0.1", WEBHOOK_PORT: "0", HEALTH_HOST: "127.0.0.1", HEALTH_PORT: "0" },
    ...{ BUS_URL: "embedded:webhook-bad-input", FILE_POLL_INTERVAL: "20ms", INJECTION_CONFIG_FILE: configFile() },
    ...{ TLS_CERT_FILE: join(workDir, "tls.crt"), TLS_KEY_FILE: join(workDir, "tls.key") },
  };
  const ready = Promise.withResolvers<number>();
  running = main(env, stop.signal, { log, onReady: ({ https }) => ready.resolve(https) });
  port = await Promise.race([ready.promise, running.then(() => assert.fail("the service ended"))]);
});

after(async () => {
  stop.abort();
  await running;
  await rm(workDir, { recursive: true });
});

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** `chunks` are sent as fast as they are taken, until there is an answer. */
function send(t: TestContext, path: string, chunks: Iterable<string>, headers: Readonly<Record<string, string>> = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const startedMs = performance.now();
  const cpuBefore = process.cpuUsage();
  const asked = request(
    {
      ...{ host: "127.0.0.1", port, path, method: "POST", rejectUnauthorized: false, agent: false },
      headers: { "content-type": "application/json", ...headers },
    },
    (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => {
        const { user, system } = process.cpuUsage(cpuBefore);
        const [clockMs, cpuMs] = [performance.now() - startedMs, (user + system) / 1_000];
        t.diagnostic(`answered after ${clockMs.toFixed(0)} ms, ${cpuMs.toFixed(0)} ms of CPU with the client's`);
        resolve({ status: response.statusCode ?? 0, text });
        asked.destroy();
      });
    },
  );
  let isAnswered = false;
  asked.on("response", () => {
    isAnswered = true;
  });
  // A server may close while a body that it does not want still comes.
  asked.on("error", (error) => (isAnswered ? undefined : reject(error)));
  const parts = chunks[Symbol.iterator]();
  const write = (): void => {
    for (let next = parts.next(); !isAnswered; next = parts.next()) {
      if (next.done === true) return void asked.end();
      if (!asked.write(next.value)) return void asked.once("drain", write);
    }
  };
  write();
  return promise;
}

function review(object: unknown, kind: object): string {
  const asked = { uid: "u1", kind, namespace: "shop", operation: "CREATE", object };
  return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: asked });
}

const podKind = { group: "", version: "v1", kind: "Pod" };
const routeKind = { group: "networking.istio.io", version: "v1", kind: "VirtualService" };
const container = (index: number) => ({
  name: `c${index}`,
  image: "a",
  ports: [{ containerPort: 1 + (index % 60_000) }],
});
const pod = (containers: readonly object[], annotations: Readonly<Record<string, string>> = {}) => ({
  ...{ apiVersion: "v1", kind: "Pod", spec: { containers } },
  metadata: { generateName: "web-", labels: { app: "web" }, annotations },
});
const route = (spec: object) => ({
  ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata: { name: "a" }, spec },
});

/** Each name stands for the one before it ten times. */
function yamlBomb(levels: number): string {
  const lines = ["l0: &l0 [a, a, a, a, a, a, a, a, a, a]"];
  for (let level = 1; level < levels; level++) {
    const before = Array.from({ length: 10 }, () => `*l${level - 1}`).join(", ");
    lines.push(`l${level}: &l${level} [${before}]`);
  }
  return lines.join("\n");
}

function* repeated(text: string, times: number): Generator<string> {
  for (let count = 0; count < times; count++) yield text;
}

const megabyte = "x".repeat(1024 * 1024);
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const asReview = (text: string, kind: object) => review("OBJECT", kind).replace('"OBJECT"', text);

interface Case {
  readonly name: string;
  readonly path: string;
  readonly body: () => Iterable<string>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly answer: RegExp;
}

const cases: readonly Case[] = [
  {
    ...{ name: "a body that is no JSON", path: "/inject", body: () => ["{"] },
    ...{ status: 200, answer: /"allowed":false.*JSON/ },
  },
  {
    ...{ name: "another content type", path: "/validate", body: () => ["a: b"] },
    ...{ headers: { "content-type": "application/yaml" }, status: 415, answer: /invalid Content-Type/ },
  },
  {
    ...{ name: "annotations of 3 MB", path: "/inject" },
    body: () => [review(pod([container(0)], { padding: megabyte.repeat(3) }), podKind)],
    ...{ status: 200, answer: /"allowed":false.*at most 262144 are allowed/ },
  },
  {
    ...{ name: "a body of 3 MB", path: "/inject" },
    body: () => [review(pod([{ ...container(0), args: [megabyte.repeat(3)] }]), podKind)],
    ...{ status: 200, answer: /"allowed":true/ },
  },
  {
    ...{ name: "a body of 300 MB", path: "/inject", body: () => repeated(megabyte, 300) },
    ...{ headers: { "content-length": String(300 * megabyte.length) }, status: 413, answer: /./ },
  },
  {
    ...{ name: "a body of 300 MB of unknown length", path: "/validate", body: () => repeated(megabyte, 300) },
    ...{ status: 413, answer: /./ },
  },
  {
    ...{ name: "10,000 containers", path: "/inject" },
    body: () => [review(pod(Array.from({ length: 10_000 }, (_, index) => container(index))), podKind)],
    ...{ status: 200, answer: /"allowed":(true|false)/ },
  },
  {
    ...{ name: "a pod of 50,000 levels", path: "/inject", body: () => [asReview(nested(50_000), podKind)] },
    ...{ status: 200, answer: /"allowed":false/ },
  },
  {
    ...{ name: "an object of 50,000 levels", path: "/validate", body: () => [asReview(nested(50_000), routeKind)] },
    ...{ status: 200, answer: /"allowed":false/ },
  },
  {
    ...{ name: "a YAML bomb for a proxy configuration", path: "/inject" },
    body: () => [review(pod([container(0)], { "proxy.istio.io/config": yamlBomb(12) }), podKind)],
    ...{ status: 200, answer: /"allowed":false/ },
  },
  {
    ...{ name: "keys of every object in a pod", path: "/inject" },
    body: () => [
      asReview(
        '{"__proto__":{"polluted":true},"metadata":{"__proto__":{"polluted":true}},"spec":{"containers":[],"constructor":{}}}',
        podKind,
      ),
    ],
    ...{ status: 200, answer: /"allowed":(true|false)/ },
  },
  {
    ...{ name: "keys of every object in configuration", path: "/validate" },
    body: () => [
      asReview(
        JSON.stringify(route({ hosts: ["a"], x: 1 })).replace('"x":1', '"__proto__":{"polluted":true}'),
        routeKind,
      ),
    ],
    ...{ status: 200, answer: /"allowed":false/ },
  },
];

describe("bad input", () => {
  for (const { name, path, body, headers, status, answer } of cases)
    it(`${name} gets an answer`, { timeout: 120_000 }, async (t) => {
      const before = process.memoryUsage().rss;
      const reply = await send(t, path, body(), headers);
      assert.equal(reply.status, status, reply.text.slice(0, 300));
      assert.match(reply.text, answer);
      assert.equal(({} as { readonly polluted?: boolean }).polluted, undefined);
      // A body that is kept whole, or a bomb that goes off, would take more.
      const grownMegabytes = (process.memoryUsage().rss - before) / 1e6;
      assert.ok(grownMegabytes < 250, `the process grew by ${grownMegabytes.toFixed(0)} MB`);
    });

  it("is followed by good answers, and is no fault of ours", async (t) => {
    const { text } = await send(t, "/inject", [review(pod([container(0)]), podKind)]);
    assert.match(text, /"patchType":"JSONPatch"/);
    assert.deepEqual(failures, []);
  });
});

describe("templates that cannot be used", () => {
  const broken: readonly (readonly [name: string, source: string, logged: RegExp])[] = [
    ["a syntax error", "spec:\n{{ if }}\n", /template own, line 2: /],
    ["an unknown function", "spec:\n\n{{ nosuch . }}\n", /template own, line 3: .*nosuch/],
    ["a block that does not end", "{{ range .Spec.Containers }}\n", /template own, line \d+: /],
  ];
  for (const [name, source, logged] of broken)
    it(`${name}: template, line and function are logged, and the last good one stays`, async (t) => {
      warnings.length = 0;
      const next = join(workDir, "next.yaml");
      await writeFile(next, JSON.stringify({ policy: "enabled", templates: { own: source } }));
      await rename(next, configFile());
      const refused = () => warnings.find((line) => line.startsWith("injection configuration refused"));
      await until(() => refused() !== undefined, { withinMs: 30_000, everyMs: 5, what: "the refusal" });
      assert.match(refused() ?? "", logged);
      const { text } = await send(t, "/inject", [review(pod([container(0)]), podKind)]);
      assert.match(text, /"allowed":true.*"patchType":"JSONPatch"/s);
    });
});
