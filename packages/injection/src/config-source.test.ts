import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createLogger, delay, noopLogger, until } from "@flotilla/runtime";
import type { InjectionConfig } from "./config.ts";
import { documentsOfMap, injectionConfigSource, injectionMapOf } from "./config-source.ts";

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
    await first();
    assert.deepEqual(
      [...current().templates.keys()],
      [...["sidecar", "gateway", "kube-gateway", "grpc-agent", "grpc-simple", "waypoint"]],
    );
    assert.equal(current().policy, "enabled");
    await following;
    assert.deepEqual(reasons, [undefined]);
    stop.abort();
  });

  it("follows its file, and keeps the version before one that cannot be used", async () => {
    writeFileSync(configFile, config("enabled"));
    const { first, current, following, stop, reasons, lines } = source({ configFile });
    await first();
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

  it("is compiled once for each change: a file that is written again as it was changes nothing", async () => {
    writeFileSync(configFile, config("enabled"));
    const { first, current, following, stop, lines } = source({ configFile });
    await first();
    const compiled = current().templates;
    writeFileSync(configFile, config("enabled"));
    for (let polls = 0; polls < 5; polls++) await delay(10);
    assert.equal(current().templates, compiled);
    writeFileSync(configFile, config("disabled"));
    await until(() => current().policy === "disabled", { withinMs: 10_000, what: "the new version" });
    assert.equal(lines.join("").match(/injection configuration read/g)?.length, 2);
    stop.abort();
    await following;
  });

  it("has values of a file beside the built-in templates", async () => {
    writeFileSync(valuesFile, JSON.stringify({ global: { hub: "own-hub" } }));
    const { first, current, following, stop } = source({ valuesFile });
    await first();
    assert.match(JSON.stringify(current().values), /own-hub/);
    assert.ok(current().templates.has("sidecar"));
    stop.abort();
    await following;
  });

  it("comes from documents where there are no files, and the last good one stays", async () => {
    const stop = new AbortController();
    const reasons: (string | undefined)[] = [];
    async function* documents() {
      yield documentsOfMap("m", { config: config("disabled"), values: "{}" });
      yield documentsOfMap("m", { config: config("enabled") });
      yield documentsOfMap("m", { config: JSON.stringify({ templates: { own: "a\n{{ nosuch }}" } }), values: "{}" });
    }
    const files = { configFile: undefined, valuesFile: undefined, pollMs: 10 };
    const onStale = (reason: string | undefined): void => void reasons.push(reason);
    const options = { ...files, documents, adjust: (read: InjectionConfig) => read, log: noopLogger, onStale };
    const opened = injectionConfigSource(options, stop.signal);
    await opened.following;
    assert.equal(opened.current().policy, "disabled");
    const [first, second, third] = reasons;
    assert.deepEqual([first, second], [undefined, "ConfigMap m has no key values"]);
    assert.match(third ?? "", /template own, line 2: .*nosuch/);
  });

  it("is the built-in one where there is no ConfigMap", () => {
    const { config: text, values, source: from } = documentsOfMap("m", undefined);
    assert.deepEqual([text, values, from], [undefined, undefined, "built-in, there is no ConfigMap m"]);
  });

  for (const [revision, name] of [
    ["default", "istio-sidecar-injector"],
    ["", "istio-sidecar-injector"],
    ["canary", "istio-sidecar-injector-canary"],
  ] as const)
    it(`is that of ${name} for the revision "${revision}"`, () => assert.equal(injectionMapOf(revision), name));

  it("ends without a failure where it is not awaited", async () => {
    const { following, stop } = source({ configFile: join(directory, "none") });
    stop.abort();
    await following;
    // A rejection that is unhandled until then fails the test.
    await setImmediate();
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
