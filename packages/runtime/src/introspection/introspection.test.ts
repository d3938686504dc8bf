/** The introspection pages of a service, over HTTP. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, describe, it } from "node:test";
import { noopLogger } from "../logger.ts";
import { url as address, text } from "../settings/kinds.ts";
import { parseSettings } from "../settings/settings.ts";
import { serviceSettings, startService } from "../start-service.ts";
import { until } from "../wait.ts";

const table = {
  ...serviceSettings(0),
  password: text({ env: "STORE_PASSWORD", default: undefined, secret: true, sentence: "A secret." }),
  store: address({ env: "STORE_URL", default: undefined, schemes: ["redis"], sentence: "The store." }),
};
const env = { HEALTH_HOST: "127.0.0.1", HEALTH_PORT: "0", INTROSPECTION_HOST: "127.0.0.1", INTROSPECTION_PORT: "0" };
const secrets = { STORE_PASSWORD: "hunter2", STORE_URL: "redis://me:hunter3@127.0.0.1:6379" };

describe("introspection pages", () => {
  const running = Promise.withResolvers<string>();
  const lines: string[] = [];
  let ended: Promise<void> | undefined;
  let base = "";
  let longProfile: Promise<unknown> | undefined;
  before(async () => {
    const settings = parseSettings(table, { ...env, ...secrets, LOG_SCOPE_LEVELS: "sign:debug" });
    const log = {
      ...noopLogger,
      info: (event: string, fields: unknown) => lines.push(`${event} ${JSON.stringify(fields)}`),
    };
    ended = startService(
      { name: "ca", version: "1.2.3", settings, table, log },
      async ({ introspection, stop }) => {
        introspection?.page("/queues", () => ({ waiting: 3 }));
        running.resolve(introspection?.url ?? "");
        await new Promise((resolve) => stop.addEventListener("abort", resolve));
      },
      new AbortController().signal,
    );
    base = await running.promise;
  });
  after(() => ended);
  const read = async (path: string, init?: RequestInit) => {
    const answer = await fetch(`${base}${path}`, init);
    return { status: answer.status, body: JSON.parse(await answer.text()) };
  };

  it("list themselves, and show figures of the service", async () => {
    const { pages } = (await read("/")).body;
    for (const page of [
      "/scopej",
      "PUT /scopej/*",
      "/settings",
      "/memory",
      "/connections",
      "/profile/cpu",
      "/queues",
      "POST /stop",
    ])
      assert.ok(pages.includes(page), `${page} in ${pages}`);
    assert.deepEqual((await read("/queues")).body, { waiting: 3 });
    assert.ok((await read("/memory")).body.heap.used_heap_size > 0);
    assert.equal((await read("/process")).body.pid, process.pid);
    const local = new URL(base).host;
    const { body } = await read("/connections");
    const own = body.find((one: { readonly local: string; readonly side: string }) => one.local === local);
    assert.deepEqual([own?.side, typeof own?.waitingBytes], ["server", "number"]);
  });

  it("show the settings in effect, and no secret, as does the log", async () => {
    const { body } = await read("/settings");
    const shown = new Map(body.map((one: { readonly name: string }) => [one.name, one]));
    assert.deepEqual(shown.get("SHUTDOWN_DURATION"), { name: "SHUTDOWN_DURATION", value: "15s", isDefault: true });
    assert.deepEqual(shown.get("STORE_PASSWORD"), { name: "STORE_PASSWORD", value: "(hidden)", isDefault: false });
    assert.match(JSON.stringify(body), /redis:\/\/\(hidden\)@127.0.0.1:6379/);
    assert.match(lines.join("\n"), /settings in effect .*"STORE_PASSWORD":"\(hidden\)"/);
    assert.doesNotMatch(JSON.stringify(body) + lines.join("\n"), /hunter/);
  });

  it("set log levels as istiod's ControlZ does", async () => {
    const put = (scope: string, level: string) =>
      read(`/scopej/${scope}`, { method: "PUT", body: JSON.stringify({ name: scope, output_level: level }) });
    assert.equal((await read("/scopej/sign")).body.output_level, "debug");
    assert.equal((await put("sign", "none")).status, 202);
    assert.equal((await put("default", "warn")).status, 202);
    const levels = (await read("/scopej/")).body.map((one: { name: string; output_level: string }) => [
      one.name,
      one.output_level,
    ]);
    assert.deepEqual(levels, [
      ["default", "warn"],
      ["sign", "none"],
    ]);
    assert.deepEqual((await put("sign", "loud")).body.error, "output_level is none of debug, info, warn, error, none");
    assert.equal((await put("nowhere", "debug")).status, 400);
  });

  it("take profiles, one at a time", async () => {
    const heap = () => read("/profile/heap?seconds=0.05");
    assert.equal(typeof (await heap()).body.head.selfSize, "number");
    assert.equal((await read("/profile/cpu?seconds=1000")).status, 400);
    longProfile = Promise.allSettled([read("/profile/cpu?seconds=120")]);
    const isRefused = async () => (await heap()).status === 409;
    await until(isRefused, { withinMs: 60_000, what: "the profile to be under way", everyMs: 1 });
  });

  it("refuse requests that a web page sends, and those for another host", async () => {
    const statusWith = (headers: Readonly<Record<string, string>>) => {
      const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
      request(`${base}/settings`, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
      return promise;
    };
    assert.equal(await statusWith({}), 200);
    assert.equal(await statusWith({ host: "attacker.example" }), 403);
    assert.equal(await statusWith({ origin: "https://attacker.example" }), 403);
  });

  it("are no reason not to start where the port is taken", async () => {
    const taken = new URL(base).port;
    const settings = parseSettings(table, { ...env, INTROSPECTION_PORT: taken });
    const run = async ({
      introspection,
    }: {
      readonly introspection: { readonly url: string | undefined } | undefined;
    }) => assert.equal(introspection?.url, undefined);
    await startService(
      { name: "webhook", version: "1", settings, table, log: noopLogger },
      run,
      new AbortController().signal,
    );
  });

  it("end the service, and with it a profile", async () => {
    assert.equal((await read("/stop", { method: "POST" })).status, 202);
    await ended;
    await longProfile;
  });
});
