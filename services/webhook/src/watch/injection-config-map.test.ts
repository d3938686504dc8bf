/** The ConfigMap of injection templates, followed at an API server in memory, and its kept copy. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { InjectionDocuments } from "@flotilla/injection";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { createLogger } from "@flotilla/runtime";
import { followInjectionMap } from "./injection-config-map.ts";

const directory = mkdtempSync(join(tmpdir(), "injection-map-"));
after(() => rmSync(directory, { recursive: true }));
const name = "istio-sidecar-injector";
const path = `/api/v1/namespaces/mesh/configmaps/${name}`;
const data = { config: "policy: enabled", values: "{}" };
let files = 0;

function following(stored: Readonly<Record<string, object>>, file = join(directory, `${files++}`, "injection.json")) {
  const memory = createMemoryApi(stored);
  const lines: string[] = [];
  const log = createLogger("webhook", "info", { write: (line) => void lines.push(JSON.parse(line).msg) });
  const stop = new AbortController();
  const options = { api: memory.api, namespace: "mesh", name, file, log, random: Math.random };
  const documents = followInjectionMap(options, stop.signal);
  const next = async () => (await documents.next()).value as InjectionDocuments;
  const end = async () => {
    stop.abort();
    await documents.return();
  };
  return { memory, lines, next, file, [Symbol.asyncDispose]: end };
}

describe("injection templates of a cluster", () => {
  it("are those of the ConfigMap as it changes, and are kept", async () => {
    await using one = following({ [path]: { data } });
    assert.deepEqual(await one.next(), { ...data, source: `ConfigMap ${name}` });
    const second = one.next();
    one.memory.put(path, { data: { ...data, values: '{"a":1}' } });
    assert.deepEqual(await second, { ...data, values: '{"a":1}', source: `ConfigMap ${name}` });
    const third = one.next();
    one.memory.remove(path);
    assert.match((await third).source, /built-in, there is no ConfigMap/);
    assert.ok(readFileSync(one.file, "utf8").includes('"a'));
  });

  it("are the kept ones first, whatever the API server says", async () => {
    const file = join(directory, "kept.json");
    writeFileSync(file, JSON.stringify({ data }));
    await using one = following({}, file);
    one.memory.refusal = () => new KubeError("KUBE_REFUSED", "may not", { status: 403 });
    assert.deepEqual(await one.next(), { ...data, source: `ConfigMap ${name}` });
    assert.deepEqual(one.lines, []);
  });

  it("are the built-in ones where the ConfigMap may not be read", async () => {
    await using one = following({ [path]: { data } });
    one.memory.refusal = () => new KubeError("KUBE_REFUSED", "may not", { status: 403 });
    assert.deepEqual(await one.next(), { source: "built-in" });
    assert.match(one.lines.join(), /no right to the ConfigMap with injection templates/);
  });

  it("are waited for where the API server fails otherwise, and a copy that cannot be read is none", async () => {
    const file = join(directory, "broken.json");
    writeFileSync(file, "{");
    await using one = following({ [path]: { data } }, file);
    let failures = 1;
    one.memory.refusal = () => (failures-- > 0 ? new KubeError("KUBE_REFUSED", "busy", { status: 500 }) : undefined);
    assert.equal((await one.next()).source, `ConfigMap ${name}`);
    assert.match(one.lines.join(), /saved injection templates unreadable/);
    assert.doesNotMatch(one.lines.join(), /no right/);
  });
});
