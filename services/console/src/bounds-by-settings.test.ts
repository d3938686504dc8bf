/** Bounds of the console that are set through its environment hold at their new values. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import { main } from "./main.ts";

const stop = new AbortController();
/** Every other service: any token is of one account. */
const services = createServer(({ url }, response) => {
  if (url?.startsWith("/debug/caller"))
    response.end(JSON.stringify({ account: "istio-system/reader", mayWrite: false }));
  else response.writeHead(404).end();
});
let running: Promise<void>;
let url: string;

before(async () => {
  services.listen(0, "127.0.0.1");
  await once(services, "listening");
  const pages = `http://127.0.0.1:${(services.address() as AddressInfo).port}`;
  const ready = Promise.withResolvers<{ readonly page: number }>();
  running = main(
    {
      ...{ CONSOLE_PORT: "0", HEALTH_HOST: "127.0.0.1", HEALTH_PORT: "0" },
      ...{ CONSOLE_XDS_SERVER: pages, CONSOLE_CONFIG_CONTROLLER: pages, CONSOLE_SERVICE_CONTROLLER: pages },
      ...{ CONSOLE_CA: pages, CONSOLE_WEBHOOK: pages, CONSOLE_MAX_SESSIONS: "3", CONSOLE_MAX_STREAMS: "2" },
    },
    stop.signal,
    { log: noopLogger, onReady: ready.resolve },
  );
  running.catch(ready.reject);
  url = `http://127.0.0.1:${(await ready.promise).page}`;
});
after(async () => {
  stop.abort();
  await running;
  services.closeAllConnections();
  services.close();
});

async function signIn(): Promise<{ readonly status: number; readonly cookie: string }> {
  const headers = { origin: url, "content-type": "application/json" };
  const answer = await fetch(`${url}/api/v1/session`, {
    method: "POST",
    headers,
    body: JSON.stringify({ token: "t" }),
  });
  await answer.body?.cancel();
  return { status: answer.status, cookie: answer.headers.get("set-cookie")?.split(";", 1)[0] ?? "" };
}

describe("the console as it is set", () => {
  let cookie: string;

  it("CONSOLE_MAX_SESSIONS: the session beyond it is refused with 429, and taken when another has ended", async () => {
    const sessions = [await signIn(), await signIn(), await signIn(), await signIn()];
    assert.deepEqual(
      sessions.map(({ status }) => status),
      [201, 201, 201, 429],
    );
    const headers = { cookie: sessions[0]?.cookie ?? "", origin: url };
    assert.equal((await fetch(`${url}/api/v1/session`, { method: "DELETE", headers })).status, 204);
    const next = await signIn();
    assert.equal(next.status, 201);
    cookie = next.cookie;
  });

  it("CONSOLE_MAX_STREAMS: the stream of events beyond it is refused with 429, and opened when another has ended", async () => {
    const opened: AbortController[] = [];
    const open = async (): Promise<number> => {
      const one = new AbortController();
      const { status } = await fetch(`${url}/api/v1/events`, { headers: { cookie }, signal: one.signal });
      if (status === 200) opened.push(one);
      return status;
    };
    assert.deepEqual([await open(), await open(), await open()], [200, 200, 429]);
    opened[0]?.abort();
    await until(async () => (await open()) === 200, {
      withinMs: 30_000,
      what: "room for the next stream",
      everyMs: 20,
    });
    for (const one of opened) one.abort();
  });
});
