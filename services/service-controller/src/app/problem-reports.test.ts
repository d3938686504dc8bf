/** Refused objects of sources: logged once, counted, and named on the readiness page while they last. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ClusterRegistries, defaultRegistrySettings } from "@flotilla/registry";
import { createMetrics, type Logger, noopLogger, until } from "@flotilla/runtime";
import type { RegistryService } from "../settings.ts";
import { ProblemReports } from "./problem-reports.ts";

function setUp() {
  const stop = new AbortController();
  const lines: string[] = [];
  const conditions: (string | undefined)[] = [];
  const line = (text: string, fields?: Readonly<Record<string, unknown>>) =>
    void lines.push(`${text}: ${fields?.["object"]}`);
  const log: Logger = { ...noopLogger, warn: line, info: line };
  const setCondition = (_: string, detail: string | undefined) => void conditions.push(detail);
  const metrics = createMetrics();
  const refused = metrics.gauge({ name: "refused", help: "Refused objects" });
  const service = { health: { setCondition }, log, stop: stop.signal } as unknown as RegistryService;
  const reports = new ProblemReports(service, { registry: new ClusterRegistries(defaultRegistrySettings), refused });
  const counted = async () => /^refused (\d+)$/m.exec(await metrics.text())?.[1];
  return { stop, lines, conditions, reports, counted, [Symbol.dispose]: () => stop.abort() };
}

const problem = (object: string) => ({ file: "mesh.yaml", line: 3, object, reason: "no ports" });
const soon = { withinMs: 10_000, what: "the report" };

describe("problems of sources", () => {
  it("are reported once for all that is noted together, and again when they are over", async () => {
    using one = setUp();
    const refused = [problem("Service/shop/a"), problem("Service/shop/b")];
    one.reports.add({ name: "files", problems: () => refused }, undefined);
    one.reports.note();
    one.reports.note();
    await until(() => one.conditions.length > 0, soon);
    assert.deepEqual(one.conditions, ["2 objects or files, see /debug/problems"]);
    assert.deepEqual(one.lines, ["refused: Service/shop/a", "refused: Service/shop/b"]);
    assert.equal(await one.counted(), "2");
    assert.deepEqual(one.reports.list()[0], { source: "files", ...problem("Service/shop/a") });
    refused.splice(0);
    one.reports.note();
    await until(() => one.conditions.length > 1, soon);
    assert.equal(one.conditions[1], undefined);
    assert.deepEqual(one.lines.slice(2), ["no longer refused: Service/shop/a", "no longer refused: Service/shop/b"]);
    assert.equal(await one.counted(), "0");
  });

  it("are looked for again while the service runs, and no more after it", async () => {
    using one = setUp();
    const running = one.reports.run();
    await until(() => one.conditions.length > 0, soon);
    assert.deepEqual(one.conditions, [undefined]);
    one.stop.abort();
    await running;
    assert.equal(one.conditions.length, 1);
  });
});
