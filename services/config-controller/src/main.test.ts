import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connectBus, createSeal, filters, subscribe } from "@flotilla/bus";
import type { Change } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { main } from "./main.ts";

const sidecar = (name: string) => `apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: ${name}, namespace: shop}
spec: {egress: [{hosts: ["*/*"]}]}
`;

function short({ op, key }: Change): string {
  return `${op} ${"kind" in key ? `${key.kind}/${key.name}` : ""}`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("the service publishes a directory, follows it, tells problems, and a restart publishes nothing: what is refused stays as it was", async () => {
  const directory = await mkdtemp(join(tmpdir(), "controller-"));
  const key = join(directory, "key");
  await writeFile(key, "a key for this test");
  await writeFile(join(directory, "a.yaml"), sidecar("a"));
  const seal = createSeal("a key for this test");
  const reader = new AbortController();
  const busUrl = "embedded:config-controller-main";
  await using bus = await connectBus({ url: busUrl, clientName: "t", log: noopLogger }, reader.signal);
  const items = subscribe({ bus, filter: filters.config, afterSequence: 0, seal, log: noopLogger }, reader.signal);
  const next = async (): Promise<readonly string[]> => {
    for (;;) {
      const { value } = await items.next();
      if (value?.kind === "group") return value.group.changes.map(short).sort();
    }
  };
  const port = await freePort();
  const env = {
    BUS_URL: busUrl,
    CONFIG_DIR: directory,
    SEAL_KEY_FILE: key,
    HEALTH_HOST: "127.0.0.1",
    HEALTH_PORT: String(port),
    LOG_LEVEL: "silent",
  };
  const page = async (path: string) =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).json() as Promise<Record<string, unknown>>;
  const isReady = async () => (await page("/ready"))["ready"] === true;

  const stop = new AbortController();
  const running = main(env, stop.signal);
  assert.deepEqual(await next(), ["put MeshConfig/mesh", "put MeshNetworks/mesh", "put Sidecar/a"]);
  await until(isReady, { withinMs: 5_000, what: "readiness" });
  await writeFile(join(directory, "a.yaml"), `${sidecar("a")}---\n${sidecar("b")}`);
  assert.deepEqual(await next(), ["put Sidecar/b"]);
  await writeFile(join(directory, "a.yaml"), `${sidecar("a")}---\n${sidecar("b").replace("egress", "egres")}`);
  const hasProblem = async () => JSON.stringify(await page("/debug/problems")).includes("spec.egres");
  await until(hasProblem, { withinMs: 5_000, what: "the refusal on the page" });
  const history = JSON.stringify(await page("/debug/history?object=sidecar/b.shop"));
  assert.match(history, /"by":"config-controller [^"]* from [^"]*".*"object":"Sidecar\/shop\/b","op":"created"/);
  assert.match(JSON.stringify(await page("/ready")), /Sidecar\/shop\/b: spec.egres/);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  assert.match(metrics, /^flotilla_config_objects\{kind="Sidecar"[^}]*\} 2$/m);
  stop.abort(new Error("the test is over"));
  await running;

  const before = (await bus.lastValues(filters.config)).map(({ sequence }) => sequence);
  const again = new AbortController();
  const restarted = main(env, again.signal);
  await until(isReady, { withinMs: 5_000, what: "readiness after the restart" });
  await until(hasProblem, { withinMs: 5_000, what: "the refusal after the restart" });
  const isAdopted = async () => JSON.stringify(await page("/debug/configz")).includes('"name":"b"');
  await until(isAdopted, { withinMs: 5_000, what: "the last good version of what is refused" });
  assert.deepEqual(
    (await bus.lastValues(filters.config)).map(({ sequence }) => sequence),
    before,
  );
  await writeFile(join(directory, "a.yaml"), sidecar("a"));
  assert.deepEqual(await next(), ["delete Sidecar/b"]);
  again.abort(new Error("the test is over"));
  await restarted;

  reader.abort();
  await items.return?.(undefined);
  await rm(directory, { recursive: true });
});
