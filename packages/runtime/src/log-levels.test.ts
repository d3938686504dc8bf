import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogger, LogLevels, parseSettings } from "./index.ts";
import { parseScopeLevels } from "./log-levels.ts";
import { logSettings } from "./logger.ts";

test("levels are of a part or of all others, and change while loggers are in use", () => {
  const lines: string[] = [];
  const levels = new LogLevels("info", { sign: "debug" });
  const log = createLogger("ca", levels, { write: (line) => void lines.push(JSON.parse(line).msg) });
  const [sign, serve] = [log.child({ part: "sign" }), log.child({ part: "serve" })];
  for (const one of [log, sign, serve.child({ peer: "a" })]) one.debug("first");
  levels.set("serve", "error");
  levels.set("default", "warn");
  for (const one of [log, sign, serve.child({ peer: "a" })]) one.warn("second");
  log.info("third");
  assert.deepEqual(lines, ["first", "second", "second"]);
  assert.deepEqual(levels.list(), { default: "warn", serve: "error", sign: "debug" });
});

test("LOG_SCOPE_LEVELS is refused with the part that is wrong", () => {
  assert.deepEqual(parseScopeLevels(["sign:debug", "a b:error"]), { sign: "debug", "a b": "error" });
  assert.throws(
    () => parseSettings(logSettings, { LOG_SCOPE_LEVELS: "sign:loud" }),
    /LOG_SCOPE_LEVELS="sign:loud": is not SCOPE:LEVEL with a level of debug, info, warn, error, silent: sign:loud/,
  );
});
