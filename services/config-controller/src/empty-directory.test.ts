/** Problems that the service reports of a directory that has become empty, and that a restart with an empty directory deletes nothing. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connectBus, filters, subscribe } from "@flotilla/bus";
import type { Change } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { freePort } from "@flotilla/servers";
import { main } from "./main.ts";

test("an emptied directory stays in force, over a restart too, until its marker confirms it", async () => {
  const directory = await mkdtemp(join(tmpdir(), "controller-"));
  const file = join(directory, "mesh.yaml");
  await writeFile(file, sidecars);
  const port = await freePort();
  const busUrl = "embedded:config-controller-empty";
  const reader = new AbortController();
  await using bus = await connectBus({ url: busUrl, clientName: "t", log: noopLogger }, reader.signal);
  const items = subscribe({ bus, filter: filters.config, afterSequence: 0, seal: undefined }, reader.signal);
  const next = async (): Promise<readonly string[]> => {
    for (;;) {
      const { value } = await items.next();
      if (value?.kind !== "group") continue;
      const names = value.group.changes.map(({ op, key }: Change) => ("name" in key ? `${op} ${key.name}` : op));
      return names.filter((name: string) => !name.endsWith(" mesh")).sort();
    }
  };
  const page = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  const shows = (path: string, text: RegExp) => async () => text.test(await page(path));
  const start = async () => {
    const stop = new AbortController();
    const health = { HEALTH_HOST: "127.0.0.1", HEALTH_PORT: String(port) };
    const running = main({ BUS_URL: busUrl, CONFIG_DIR: directory, LOG_LEVEL: "silent", ...health }, stop.signal);
    await until(shows("/ready", /"ready": ?true/), { withinMs: 30_000, what: "readiness" });
    return async () => {
      stop.abort(new Error("the test is over"));
      await running;
    };
  };

  const end = await start();
  assert.deepEqual(await next(), ["put a", "put b"]);
  await rm(file);
  const isShown = shows("/ready", /has become empty: its 2 objects stay in force/);
  await until(isShown, { withinMs: 30_000, what: "the condition" });
  assert.match(await page("/debug/problems"), /has become empty/);
  assert.match(await page("/metrics"), /^flotilla_config_held_objects\{directory="[^"]+"[^}]*\} 2$/m);
  await end();

  const endAgain = await start();
  await until(isShown, { withinMs: 30_000, what: "the condition after a restart" });
  const isAdopted = shows("/debug/configz", /"name": ?"b"/);
  await until(isAdopted, { withinMs: 30_000, what: "what is published, in force" });
  await writeFile(join(directory, ".flotilla-empty"), "");
  // Nothing else has been published meanwhile.
  assert.deepEqual(await next(), ["delete a", "delete b"]);
  assert.doesNotMatch(await page("/ready"), /has become empty/);
  await endAgain();

  reader.abort();
  await items.return?.(undefined);
  await rm(directory, { recursive: true });
});

const sidecars = ["a", "b"]
  .map(
    (name) => `apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: ${name}, namespace: shop}
spec: {egress: [{hosts: ["*/*"]}]}
`,
  )
  .join("---\n");
