import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createLogger, until } from "@flotilla/runtime";
import { injectionConfigSource } from "./config-source.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-injection-"));
after(() => rmSync(directory, { recursive: true }));
const configFile = join(directory, "config");
const valuesFile = join(directory, "values");
const config = (policy: string) =>
  JSON.stringify({ policy, defaultTemplates: ["own"], templates: { own: "spec: {}" } });

function source(files: { readonly configFile?: string; readonly valuesFile?: string }) {
  const stop = new AbortController();
  const reasons: (string | undefined)[] = [];
  const lines: string[] = [];
  const opened = injectionConfigSource(
    {
      ...{ configFile: undefined, valuesFile: undefined, ...files, pollMs: 10, adjust: (read) => read },
      log: createLogger("test", "info", { write: (line) => void lines.push(line) }),
      onStale: (reason) => void reasons.push(reason),
    },
    stop.signal,
  );
  return { ...opened, stop, reasons, lines };
}

describe("the injection configuration", () => {
  it("is the built-in one without files", async () => {
    const { first, current, following, stop, reasons } = source({});
    assert.throws(current, { code: "INJECT_BAD_CONFIG" });
    await first;
    assert.deepEqual([...current().templates.keys()], ["sidecar", "gateway", "kube-gateway"]);
    assert.equal(current().policy, "enabled");
    await following;
    assert.deepEqual(reasons, []);
    stop.abort();
  });

  it("follows its file, and keeps the version before one that cannot be used", async () => {
    writeFileSync(configFile, config("enabled"));
    const { first, current, following, stop, reasons, lines } = source({ configFile });
    await first;
    assert.deepEqual([current().policy, [...current().templates.keys()]], ["enabled", ["own"]]);
    writeFileSync(configFile, config("disabled"));
    await until(() => current().policy === "disabled", { withinMs: 10_000, what: "the new version" });
    writeFileSync(configFile, "[");
    await until(() => reasons.at(-1) !== undefined, { withinMs: 10_000, what: "the refusal" });
    assert.equal(current().policy, "disabled");
    assert.match(lines.join(""), /refused, the one before stays in force/);
    writeFileSync(configFile, config("enabled"));
    await until(() => current().policy === "enabled", { withinMs: 10_000, what: "the next version" });
    assert.equal(reasons.at(-1), undefined);
    stop.abort();
    await following;
  });

  it("has values of a file beside the built-in templates", async () => {
    writeFileSync(valuesFile, JSON.stringify({ global: { hub: "own-hub" } }));
    const { first, current, following, stop } = source({ valuesFile });
    await first;
    assert.match(JSON.stringify(current().values), /own-hub/);
    assert.ok(current().templates.has("sidecar"));
    stop.abort();
    await following;
  });

  it("is never there when the file is not", async () => {
    const { first, following, stop, reasons } = source({ configFile: join(directory, "none") });
    await until(() => reasons.length > 0, { withinMs: 10_000, what: "the reason" });
    const rejected = assert.rejects(first);
    stop.abort();
    await rejected;
    await following;
  });
});
