import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ClusterRegistries, defaultRegistrySettings } from "@flotilla/registry";
import { until } from "@flotilla/runtime";
import { registryFile } from "./file-sources.ts";

const directory = await mkdtemp(join(tmpdir(), "registry-file-"));
after(() => rm(directory, { recursive: true }));

const good = `services:
- host: a.example
  ports: [{name: http, number: 80}]
  endpoints: [{address: 192.0.2.1}]
`;

test("the file is followed; what is wrong in it is reported, and the rest goes on", async (t) => {
  const path = join(directory, "services.yaml");
  await writeFile(path, good);
  const registry = new ClusterRegistries(defaultRegistrySettings);
  const stop = new AbortController();
  t.after(() => stop.abort());
  await using source = registryFile({ path, onProblems: () => undefined });
  const running = (async () => {
    for await (const { inputs } of source.groups(stop.signal)) registry.apply(inputs);
  })();
  const addresses = () =>
    registry
      .state()
      .flatMap((one) => (one.type === "endpoints" && one.op === "put" ? one.value.flatMap((e) => e.addresses) : []))
      .join();
  const problems = () => [...source.problems(), ...registry.problems()];
  const soon = (what: string) => ({ withinMs: 30_000, what });
  await until(() => addresses() === "192.0.2.1", soon("the endpoint"));

  await writeFile(path, `${good}- host: b.example\n  ports: [{name: http, number: 0}]\n`);
  await until(() => problems().length === 1, soon("the problem"));
  assert.deepEqual(problems()[0], {
    object: "File/default/b.example",
    field: "ports[0].number",
    reason: "0 is no number from 1 to 65535",
  });
  assert.equal(addresses(), "192.0.2.1");

  await writeFile(path, "services: [{");
  await until(() => source.problems().length > 0, soon("the text to be refused"));
  assert.equal(source.problems()[0]?.file, path);
  assert.equal(addresses(), "192.0.2.1");

  await writeFile(path, good.replace("192.0.2.1", "192.0.2.2"));
  await until(() => addresses() === "192.0.2.2" && problems().length === 0, soon("the change"));
  stop.abort();
  await running;
});
