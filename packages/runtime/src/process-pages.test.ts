/** Settings and log levels over the health port. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HttpHandler } from "@flotilla/http";
import { LogLevels } from "./log-levels.ts";
import { createLogger } from "./logger.ts";
import { processPages } from "./process-pages.ts";

function pages() {
  const levels = new LogLevels("info");
  levels.scope("bus");
  const lines: string[] = [];
  const log = createLogger("ca", "info", { write: (line) => void lines.push(JSON.parse(line).msg) });
  const settings = [{ name: "LOG_LEVEL", value: "info", isDefault: true }];
  return {
    levels,
    lines,
    ...{ pages: processPages({ service: "ca", version: "1.2", settings, levels, log }) },
    settings,
  };
}
const ask = async (handler: HttpHandler, body: unknown) => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return (await handler({ body: Buffer.from(text) } as never)) as { readonly status?: number; readonly json: unknown };
};

describe("pages of a process", () => {
  it("show its settings and the levels of its parts", async () => {
    const { pages: own, settings } = pages();
    assert.deepEqual((await ask(own.settings, "")).json, {
      ...{ service: "ca", version: "1.2", settings },
      levels: [
        { scope: "bus", level: "info" },
        { scope: "default", level: "info" },
      ],
    });
  });

  it("change the level of a part, and that of all others", async () => {
    const { pages: own, levels, lines } = pages();
    assert.deepEqual(await ask(own.setLevel, { scope: "bus", level: "debug" }), {
      json: { scope: "bus", level: "debug" },
    });
    assert.deepEqual(levels.list(), { default: "info", bus: "debug" });
    assert.deepEqual(await ask(own.setLevel, { level: "warn" }), { json: { scope: "default", level: "warn" } });
    assert.equal(levels.list()["default"], "warn");
    assert.ok(lines.length <= 2 && lines.every((line) => line === "log level changed"));
  });

  const refused: readonly (readonly [body: unknown, reason: RegExp])[] = [
    ["{", /^the body is no JSON: /],
    ["null", /^level is none of .*debug.*info/],
    [{ scope: "bus" }, /^level is none of/],
    [{ scope: "bus", level: "loud" }, /^level is none of/],
    [{ scope: "buss", level: "debug" }, /^there is no part "buss"$/],
  ];
  for (const [body, reason] of refused)
    it(`refuse ${JSON.stringify(body)}, and change nothing`, async () => {
      const { pages: own, levels } = pages();
      const { status, json } = await ask(own.setLevel, body);
      assert.equal(status, 400);
      assert.match((json as { error: string }).error, reason);
      assert.deepEqual(levels.list(), { default: "info", bus: "info" });
    });
});
