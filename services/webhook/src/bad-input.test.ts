/**
 * Requests of hostile or mistaken clients, and templates that cannot be used, through the real port: each gets a bounded answer, the
 * process stays, and so does its memory. The time of each answer is printed and not judged: a busy machine is no fault of the code
 * (docs/benchmarks.md).
 */
import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { builtInDocuments } from "@flotilla/injection";
import { type Logger, noopLogger, until } from "@flotilla/runtime";
import { main } from "./main.ts";
import { badInputs, goodInput, sendBody } from "./testing/bad-inputs.fixture.ts";
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

describe("bad input", () => {
  for (const input of badInputs)
    it(`${input.name} gets an answer`, { timeout: 120_000 }, async (t) => {
      const before = process.memoryUsage().rss;
      const cpuBefore = process.cpuUsage();
      const reply = await sendBody(port, input);
      const { user, system } = process.cpuUsage(cpuBefore);
      const cpuMs = (user + system) / 1_000;
      t.diagnostic(`answered after ${reply.clockMs.toFixed(0)} ms, ${cpuMs.toFixed(0)} ms of CPU with the client's`);
      assert.equal(reply.status, input.status, reply.text.slice(0, 300));
      assert.match(reply.text, input.answer);
      assert.equal(({} as { readonly polluted?: boolean }).polluted, undefined);
      // A body that is kept whole, or a bomb that goes off, would take more.
      const grownMegabytes = (process.memoryUsage().rss - before) / 1e6;
      assert.ok(grownMegabytes < 250, `the process grew by ${grownMegabytes.toFixed(0)} MB`);
    });

  it("is followed by good answers, and is no fault of ours", async () => {
    const { text } = await sendBody(port, goodInput);
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
    it(`${name}: template, line and function are logged, and the last good one stays`, async () => {
      warnings.length = 0;
      const next = join(workDir, "next.yaml");
      await writeFile(next, JSON.stringify({ policy: "enabled", templates: { own: source } }));
      await rename(next, configFile());
      const refused = () => warnings.find((line) => line.startsWith("injection configuration refused"));
      await until(() => refused() !== undefined, { withinMs: 30_000, everyMs: 5, what: "the refusal" });
      assert.match(refused() ?? "", logged);
      const { text } = await sendBody(port, goodInput);
      assert.match(text, /"allowed":true.*"patchType":"JSONPatch"/s);
    });
});
