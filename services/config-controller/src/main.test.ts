import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connectBus, createSeal, filters, subscribe } from "@flotilla/bus";
import type { Change } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { freePort } from "@flotilla/servers";
import { main } from "./main.ts";

const sidecar = (name: string) => `apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: ${name}, namespace: shop}
spec: {egress: [{hosts: ["*/*"]}]}
`;

function short({ op, key }: Change): string {
  return `${op} ${"kind" in key ? `${key.kind}/${key.name}` : ""}`;
}

test("the service publishes a directory, follows it, reports problems, and a restart publishes nothing: what is refused stays as it was", async () => {
  const directory = await mkdtemp(join(tmpdir(), "controller-"));
  const key = join(directory, "key");
  await writeFile(key, "a key for this test");
  await writeFile(join(directory, "a.yaml"), sidecar("a"));
  const seal = createSeal("a key for this test");
  const reader = new AbortController();
  const busUrl = "embedded:config-controller-main";
  await using bus = await connectBus({ url: busUrl, clientName: "t", log: noopLogger }, reader.signal);
  const items = subscribe({ bus, filter: filters.config, afterSequence: 0, seal }, reader.signal);
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
  await until(isReady, { withinMs: 30_000, what: "readiness" });
  await writeFile(join(directory, "a.yaml"), `${sidecar("a")}---\n${sidecar("b")}`);
  assert.deepEqual(await next(), ["put Sidecar/b"]);
  await writeFile(join(directory, "a.yaml"), `${sidecar("a")}---\n${sidecar("b").replace("egress", "egres")}`);
  const hasProblem = async () => JSON.stringify(await page("/debug/problems")).includes("spec.egres");
  await until(hasProblem, { withinMs: 30_000, what: "the refusal on the page" });
  const status = async (object: string) => (await page(`/debug/objects?object=${object}`))["state"];
  assert.deepEqual([await status("sidecar/a.shop"), await status("sidecar/b.shop")], ["accepted", "refused"]);
  const history = JSON.stringify(await page("/debug/history?object=sidecar/b.shop"));
  assert.match(history, /"by":"config-controller [^"]* from [^"]*".*"object":"Sidecar\/shop\/b","op":"created"/);
  const isOnReady = async () => JSON.stringify(await page("/ready")).includes("Sidecar/shop/b: spec.egres");
  await until(isOnReady, { withinMs: 30_000, what: "the refusal on the page of readiness" });
  const metrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  assert.match(await metrics(), /^flotilla_config_objects\{kind="Sidecar"[^}]*\} 2$/m);
  assert.match(await metrics(), /^flotilla_config_published_total\{op="put"[^}]*\} 4$/m);
  stop.abort(new Error("the test is over"));
  await running;

  const before = (await bus.lastValues(filters.config)).map(({ sequence }) => sequence);
  const again = new AbortController();
  const restarted = main(env, again.signal);
  await until(isReady, { withinMs: 30_000, what: "readiness after the restart" });
  await until(hasProblem, { withinMs: 30_000, what: "the refusal after the restart" });
  const isAdopted = async () => JSON.stringify(await page("/debug/configz")).includes('"name":"b"');
  await until(isAdopted, { withinMs: 30_000, what: "the last good version of what is refused" });
  assert.deepEqual(
    (await bus.lastValues(filters.config)).map(({ sequence }) => sequence),
    before,
  );
  assert.doesNotMatch(await metrics(), /^flotilla_config_published_total\{/m, "an unchanged restart publishes nothing");
  await writeFile(join(directory, "a.yaml"), sidecar("a"));
  assert.deepEqual(await next(), ["delete Sidecar/b"]);
  const isCounted = async () => /^flotilla_config_published_total\{op="delete"[^}]*\} 1$/m.test(await metrics());
  await until(isCounted, { withinMs: 30_000, what: "the count of what was published" });
  again.abort(new Error("the test is over"));
  await restarted;

  reader.abort();
  await items.return?.(undefined);
  await rm(directory, { recursive: true });
});

test("a slip in one document refuses that one with file, line and reason; the service starts, and the others count", async () => {
  const directory = await mkdtemp(join(tmpdir(), "controller-"));
  const slips: readonly (readonly [file: string, text: string, reason: RegExp])[] = [
    ["alias.yaml", `${sidecar("a")}---\nspec: {hosts: [*.example.com]}\n`, /alias\.yaml:6 Unresolved alias/],
    ["name.yaml", sidecar("{toString: x}"), /name\.yaml:1 metadata\.name is no text/],
    ["slash.yaml", sidecar("b/c"), /slash\.yaml:1 metadata\.name must not contain "\/"/],
    ["namespace.yaml", sidecar("d").replace("shop", "e/f"), /namespace\.yaml:1 metadata\.namespace must not contain/],
  ];
  for (const [file, text] of slips) await writeFile(join(directory, file), text);
  await writeFile(join(directory, "good.yaml"), sidecar("good"));
  const port = await freePort();
  const env = {
    ...{ BUS_URL: "embedded:config-controller-slips", CONFIG_DIR: directory, LOG_LEVEL: "silent" },
    ...{ HEALTH_HOST: "127.0.0.1", HEALTH_PORT: String(port) },
  };
  const stop = new AbortController();
  const running = main(env, stop.signal);
  try {
    const page = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    const isReady = async () => /"ready": ?true/.test(await page("/ready"));
    await until(isReady, { withinMs: 30_000, what: "readiness" });
    const { problems } = JSON.parse(await page("/debug/problems")) as {
      readonly problems: readonly {
        readonly file: string;
        readonly line: number;
        readonly field?: string;
        readonly reason: string;
      }[];
    };
    const texts = problems.map(({ file, line, field, reason }) =>
      [`${file}:${line}`, field, reason].filter(Boolean).join(" "),
    );
    for (const [, , reason] of slips)
      assert.ok(
        texts.some((text) => reason.test(text)),
        `${reason} in ${texts.join("\n")}`,
      );
    const configs = await page("/debug/configz");
    for (const name of ["a", "good"]) assert.match(configs, new RegExp(`"name": ?"${name}"`));
  } finally {
    stop.abort(new Error("the test is over"));
    await running;
    await rm(directory, { recursive: true, force: true });
  }
});
