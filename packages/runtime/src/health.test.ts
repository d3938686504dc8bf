import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { createMetrics, type Health, listen, noopLogger, serveHealth } from "./index.ts";

const open = (port = 0): Promise<Health> =>
  serveHealth({
    service: "ca",
    version: "1.2.3",
    host: "127.0.0.1",
    port,
    setting: "HEALTH_PORT",
    log: noopLogger,
    metrics: createMetrics(),
  });

async function ready(health: Health): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const response = await fetch(`${health.url}/ready`);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe("health page", () => {
  it("is ready only after markReady, and reports the conditions that hold", async () => {
    await using health = await open();
    assert.equal((await ready(health)).status, 503);
    health.setCondition("nats", "away: connection refused");
    health.markReady();
    const reported = await ready(health);
    assert.equal(reported.status, 200);
    assert.equal(reported.body["state"], "ready");
    const [condition] = reported.body["conditions"] as readonly Record<string, unknown>[];
    assert.equal(condition?.["detail"], "away: connection refused");
    health.setCondition("nats", "still away");
    const [later] = (await ready(health)).body["conditions"] as readonly Record<string, unknown>[];
    assert.equal(later?.["since"], condition?.["since"], "a condition keeps the time when it began");
  });

  it("is not ready while a blocking condition holds, and ready again after it", async () => {
    await using health = await open();
    health.markReady();
    health.setCondition("roots", "no root", { blocks: true });
    assert.equal((await ready(health)).status, 503);
    health.setCondition("roots", undefined);
    assert.equal((await ready(health)).status, 200);
  });

  it("serves life, version, metrics and added routes", async () => {
    const metrics = createMetrics();
    metrics.counter({ name: "pushes_total", help: "Pushes", labels: ["type"] }).add(2, { type: "cds" });
    await using health = await serveHealth({
      service: "xds-server",
      version: "1.2.3",
      host: "127.0.0.1",
      port: 0,
      setting: "HEALTH_PORT",
      log: noopLogger,
      metrics,
    });
    health.route("GET", "/debug/config/*", ({ path, query }) => ({ json: { path, full: query.get("full") } }));
    health.route("POST", "/debug/echo", ({ body }) => ({ text: new TextDecoder().decode(body), status: 201 }));
    const text = async (path: string, init?: RequestInit) => {
      const response = await fetch(health.url + path, init);
      return `${response.status} ${await response.text()}`;
    };
    assert.equal(await text("/healthz"), "200 ok\n");
    assert.match(await text("/version"), /"version": "1.2.3",[\s\S]*"clientVersion": \{\n *"version": "1.2.3"/);
    assert.match(await text("/metrics"), /pushes_total\{type="cds"\} 2/);
    assert.match(await text("/debug/config/a/b?full=1"), /"path": "\/debug\/config\/a\/b",\n {2}"full": "1"/);
    assert.equal(await text("/debug/echo", { method: "POST", body: "hello" }), "201 hello");
    assert.match(await text("/nothing"), /^404 .*\/debug\/config\/\*/s);
    assert.equal(await text("/healthz", { method: "HEAD" }), "200 ");
    assert.throws(() => health.route("GET", "/version", () => ({ text: "" })), { code: "ROUTE_TAKEN" });
  });

  it("a page that fails fails alone", async () => {
    await using health = await open();
    health.route("GET", "/debug/broken", () => {
      throw new Error("no such proxy");
    });
    const response = await fetch(`${health.url}/debug/broken`);
    assert.equal(response.status, 500);
    assert.match(await response.text(), /no such proxy/);
    assert.equal((await fetch(`${health.url}/healthz`)).status, 200);
  });

  it("names the port that is taken and the setting that moves it", async () => {
    const other = createServer();
    const port = await listen(other, { host: "127.0.0.1", port: 0, setting: "OTHER" });
    await assert.rejects(open(port), {
      code: "PORT_IN_USE",
      message: new RegExp(`port ${port} on 127.0.0.1 is in use.*HEALTH_PORT`),
    });
    await new Promise((resolve) => other.close(resolve));
  });
});
