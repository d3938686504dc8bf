/** The console as a process: it signs callers in by the services' answers, and serves the API without a page. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { main } from "./main.ts";
import { readSettings } from "./settings.ts";

const workDir = mkdtempSync(join(tmpdir(), "console-main-"));
after(() => rmSync(workDir, { recursive: true }));

/** Both services that prove tokens; the one token is `T`. */
async function services() {
  const server = createServer(({ url, headers }, response) => {
    if (!url?.startsWith("/debug/caller")) response.writeHead(404).end("{}");
    else if (headers.authorization !== "Bearer T") response.writeHead(401).end("{}");
    else response.end(JSON.stringify({ account: "shop/ann", mayWrite: true }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const end = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.dispose]: end };
}

async function startConsole(env: Readonly<Record<string, string>>) {
  const stop = new AbortController();
  const ready = Promise.withResolvers<{ readonly page: number; readonly health: number }>();
  const closed = "http://127.0.0.1:1";
  const running = main(
    {
      ...{ WORK_DIR: workDir, CONSOLE_PORT: "0", HEALTH_PORT: "0", HEALTH_HOST: "127.0.0.1", LOG_LEVEL: "silent" },
      ...{ CONSOLE_CONFIG_CONTROLLER: closed, CONSOLE_XDS_SERVER: closed, CONSOLE_SERVICE_CONTROLLER: closed },
      ...{ CONSOLE_CA: closed, CONSOLE_WEBHOOK: closed, CONSOLE_PAGE_DIR: join(workDir, "none"), ...env },
    },
    stop.signal,
    { log: noopLogger, onReady: ready.resolve },
  );
  running.catch(ready.reject);
  const { page, health } = await ready.promise;
  const end = async () => {
    stop.abort();
    await running;
  };
  const url = `http://127.0.0.1:${page}`;
  const ask = (path: string, init: RequestInit = {}, cookie = "") =>
    fetch(`${url}${path}`, { ...init, headers: { origin: url, "content-type": "application/json", cookie } });
  const signIn = (token: string) => ask("/api/v1/session", { method: "POST", body: JSON.stringify({ token }) });
  return { ask, signIn, health: `http://127.0.0.1:${health}`, [Symbol.asyncDispose]: end };
}

const errorOf = async (answer: Response) => {
  const { error } = (await answer.json()) as { readonly error: { readonly code: string } };
  return [answer.status, error.code];
};

describe("the console", () => {
  it("signs callers in whose token a service takes, until they sign out", async () => {
    using upstream = await services();
    const env = { CONSOLE_XDS_SERVER: upstream.url, CONSOLE_CONFIG_CONTROLLER: upstream.url };
    await using running = await startConsole(env);
    assert.deepEqual(await errorOf(await running.ask("/api/v1/session")), [401, "no-session"]);
    assert.deepEqual(await errorOf(await running.signIn("other")), [401, "bad-token"]);
    const begun = await running.signIn("T");
    assert.equal(begun.status, 201);
    const set = begun.headers.get("set-cookie") ?? "";
    assert.match(set, /; HttpOnly; SameSite=Strict$/);
    const [cookie = ""] = set.split(";", 1);
    const known = (await (await running.ask("/api/v1/session", {}, cookie)).json()) as object;
    assert.deepEqual(known, { ...known, account: "shop/ann", mayWrite: true, idleMs: 1_800_000 });
    const second = await running.signIn("T");
    assert.equal((await running.ask("/api/v1/session", {}, cookie)).status, 200, "both are open");
    const again = await running.ask("/api/v1/session", { method: "POST", body: '{"token":"T"}' }, cookie);
    assert.equal(again.status, 201);
    assert.deepEqual(await errorOf(await running.ask("/api/v1/session", {}, cookie)), [401, "no-session"], "replaced");
    const [other = ""] = (second.headers.get("set-cookie") ?? "").split(";", 1);
    const left = await running.ask("/api/v1/session", { method: "DELETE" }, other);
    assert.deepEqual([left.status, /Max-Age=0/.test(left.headers.get("set-cookie") ?? "")], [204, true]);
    assert.deepEqual(await errorOf(await running.ask("/api/v1/session", {}, other)), [401, "no-session"]);
    assert.deepEqual(await errorOf(await running.ask("/api/v1/session", { method: "PUT" })), [400, "bad-request"]);
  });

  it("answers with the services that are away, by name", async () => {
    using upstream = await services();
    await using running = await startConsole({ CONSOLE_XDS_SERVER: upstream.url });
    const [cookie = ""] = ((await running.signIn("T")).headers.get("set-cookie") ?? "").split(";", 1);
    const overview = await running.ask("/api/v1/overview", {}, cookie);
    assert.equal(overview.status, 200);
    assert.equal(overview.headers.get("cache-control"), "no-store");
    const { away } = (await overview.json()) as { readonly away: readonly { readonly service: string }[] };
    assert.ok(away.some(({ service }) => service === "config-controller"));
    assert.deepEqual(await errorOf(await running.ask("/api/v1/nothing", {}, cookie)), [404, "not-found"]);
    const text = await running.ask("/api/v1/session", { method: "POST", body: "{" });
    assert.deepEqual(await errorOf(text), [400, "bad-request"]);
  });

  it("cannot sign in where no service answers, and says that there is no page", async () => {
    await using running = await startConsole({});
    assert.deepEqual(await errorOf(await running.signIn("T")), [503, "away"]);
    const page = await running.ask("/");
    assert.deepEqual([page.status, /There is no such file/.test(await page.text())], [404, true]);
    assert.deepEqual(await errorOf(await running.ask("/", { method: "POST" })), [404, "not-found"]);
    const ready = await fetch(`${running.health}/ready`);
    assert.equal(ready.status, 200);
    assert.match(await ready.text(), /only the API is served/);
  });
});

describe("the settings of the console", () => {
  it("have the file of roots in the work directory", () => {
    const { rootFile, workDir: of } = readSettings({ WORK_DIR: "/w" });
    assert.deepEqual([of, rootFile.startsWith("/w/")], ["/w", true]);
  });
  it("are refused where an address is none", async () => {
    await assert.rejects(startConsole({ CONSOLE_CA: "ca:1" }), { code: "SETTINGS_INVALID" });
  });
});
