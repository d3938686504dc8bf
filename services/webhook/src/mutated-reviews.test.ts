/**
 * AdmissionReviews as a hostile or broken client might send them, through the real port: each is answered, by a patch or by a rejection
 * with its reason. MUTATED_REVIEWS sets their number, MUTATION_SEED the start.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { main } from "./main.ts";
import { bodyOf, randomOf } from "./testing/mutations.ts";
import { sampleReviews } from "./testing/sample-reviews.ts";
import { selfSigned } from "./testing/self-signed.ts";

const count = Number(process.env["MUTATED_REVIEWS"] ?? 1_000);
const seed = Number(process.env["MUTATION_SEED"] ?? 1);

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
