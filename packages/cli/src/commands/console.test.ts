/** `flotilla console` beside a control plane whose record a test has written. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { answerPages } from "../answering-service.fixture.ts";
import { recordRun } from "../recorded-run.fixture.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-console-"));
after(() => rmSync(workDir, { recursive: true }));

function show(services: Readonly<Record<string, string>>) {
  const replicas = Object.entries(services).map(([name, healthUrl]) => ({
    name,
    replica: name,
    healthUrl,
    restarts: 0,
  }));
  writeFileSync(
    join(workDir, "flotilla.json"),
    JSON.stringify({ pid: 1, services: replicas, ports: { console: 15080 } }),
  );
  return recordRun(["console", "--work-dir", workDir]);
}

describe("flotilla console", () => {
  it("prints the address, how to sign in, and what the console waits for", async () => {
    await using page = await answerPages(() => ({ body: { ready: false, conditions: { bus: "unreachable" } } }));
    const { code, out, err } = await show({ ca: "http://127.0.0.1:1", console: page.url });
    assert.equal(code, 0);
    assert.match(out, /^http:\/\/localhost:15080\nsign in with a token/);
    assert.ok(out.includes(`flotilla token --namespace istio-system --service-account flotilla-admin`), out);
    assert.equal(err, "flotilla: bus: unreachable\n");
  });

  it("needs a console among the services", async () => {
    const { code, err } = await show({ ca: "http://127.0.0.1:1" });
    assert.notEqual(code, 0);
    assert.match(err, /runs without a console: flotilla up starts one/);
  });

  it("needs one that answers", async () => {
    const { code, err } = await show({ console: "http://127.0.0.1:1" });
    assert.notEqual(code, 0);
    assert.match(err, /the console does not answer at http:\/\/127\.0\.0\.1:1/);
  });
});
