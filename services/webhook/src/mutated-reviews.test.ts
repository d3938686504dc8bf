/**
 * AdmissionReviews as a hostile or broken client might send them, through the real port: each is answered, by a patch or by a refusal that says
 * why. MUTATED_REVIEWS sets their number, MUTATION_SEED the start.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { main } from "./main.ts";
import { sampleReviews } from "./testing/sample-reviews.ts";
import { selfSigned } from "./testing/self-signed.ts";

const count = Number(process.env["MUTATED_REVIEWS"] ?? 1_000);
const seed = Number(process.env["MUTATION_SEED"] ?? 1);

/** mulberry32: small, and the same everywhere. */
function randomOf(start: number): (below: number) => number {
  let state = start;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const odd: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e300, "", "x", "-", "0", "\0", "\ud800", "a".repeat(5_000), "*".repeat(300)],
  ...[[], {}, [null], [[]], { toString: 1 }, JSON.parse('{"__proto__":{"a":1}}'), "{", "{}", "[]", "null", "a: b: c"],
];
const oddNames = ["__proto__", "toString", "constructor", "", "x", "name", "metadata"];

/** A copy in which one value, somewhere, is another one, is gone, or has another name. */
function mutated(value: unknown, random: (below: number) => number): unknown {
  const places = placesOf(value);
  const path = places[random(places.length)] ?? [];
  const copy = structuredClone(value) as unknown;
  const parent = path.slice(0, -1).reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], copy);
  const last = path.at(-1);
  if (last === undefined) return odd[random(odd.length)];
  const holder = parent as Record<string, unknown>;
  const kind = random(8);
  if (kind === 0 && !Array.isArray(parent)) delete holder[last];
  else if (kind === 1 && !Array.isArray(parent)) {
    Object.defineProperty(holder, oddNames[random(oddNames.length)] ?? "", {
      ...{ value: holder[last], enumerable: true, configurable: true, writable: true },
    });
    delete holder[last];
  } else if (kind === 2 && Array.isArray(parent)) parent.push(structuredClone(holder[last]));
  else holder[last] = odd[random(odd.length)];
  return copy;
}

function placesOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [
    path,
    ...Object.keys(value).flatMap((key) => placesOf((value as Record<string, unknown>)[key], [...path, key])),
  ];
}

function bodyOf(sample: object, random: (below: number) => number): Buffer {
  let value: unknown = sample;
  for (let times = 1 + random(4); times > 0; times--) value = mutated(value, random);
  const body = Buffer.from(JSON.stringify(value) ?? "");
  if (random(10) > 0) return body;
  const bytes = Buffer.from(body);
  for (let times = 1 + random(4); times > 0 && bytes.length > 0; times--) bytes[random(bytes.length)] = random(256);
  return bytes;
}

function post(port: number, agent: Agent, path: string, body: Buffer): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const headers = { "content-type": "application/json", "content-length": body.length };
  const to = { host: "127.0.0.1", port, path, method: "POST", headers, rejectUnauthorized: false, agent };
  const asked = request(to, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
  });
  asked.on("error", reject);
  asked.end(body);
  return promise;
}

it(`answers ${count} mutated reviews`, { timeout: 20_000 + count * 30 }, async () => {
  const stop = new AbortController();
  const workDir = await mkdtemp(join(tmpdir(), "webhook-mutated-"));
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const failures: unknown[] = [];
  const log = {
    ...noopLogger,
    child: () => log,
    error: (event: string, fields?: unknown) => failures.push(event, fields),
  };
  const { chainPem, keyPem } = await selfSigned("localhost");
  const files = { TLS_CERT_FILE: join(workDir, "tls.crt"), TLS_KEY_FILE: join(workDir, "tls.key") };
  await writeFile(files.TLS_CERT_FILE, chainPem);
  await writeFile(files.TLS_KEY_FILE, keyPem);
  const ports = { WEBHOOK_HOST: "127.0.0.1", WEBHOOK_PORT: "0", HEALTH_HOST: "127.0.0.1", HEALTH_PORT: "0" };
  const ready = Promise.withResolvers<number>();
  const env = { ...files, ...ports, WORK_DIR: workDir, BUS_URL: "embedded:webhook-mutated-reviews" };
  const running = main(env, stop.signal, { log, onReady: ({ https }) => ready.resolve(https) });
  try {
    const port = await Promise.race([ready.promise, running.then(() => assert.fail("ended"))]);
    const random = randomOf(seed);
    for (let done = 0; done < count; done++) {
      const { path, review } = sampleReviews[random(sampleReviews.length)] ?? assert.fail("no samples");
      const body = bodyOf(review, random);
      const { status, text } = await post(port, agent, path, body);
      const what = () => `review ${done} of seed ${seed}: ${status} ${text} ${body.toString().slice(0, 2_000)}`;
      assert.ok(
        status === 200 || (status === 400 && body.length === 0),
        `${what()} ${failures.map((one) => (one as { error?: Error }).error?.stack ?? "").join("")}`,
      );
      if (status === 400) continue;
      const { response } = JSON.parse(text) as { response: { allowed: boolean; status?: { message: string } } };
      assert.ok(response.allowed || (response.status?.message ?? "") !== "", what());
    }
    assert.deepEqual(failures, []);
  } finally {
    agent.destroy();
    stop.abort();
    await running;
    await rm(workDir, { recursive: true });
  }
});
