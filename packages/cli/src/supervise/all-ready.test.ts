/** Waiting for services by their pages. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, describe, it } from "node:test";
import { allReady } from "./all-ready.ts";
import type { RunningService } from "./running-service.ts";

const pages: Server[] = [];
after(() => {
  for (const page of pages) page.close();
});

/** A service whose page reports `ready` from the given request on. */
async function service(replica: string, readyFrom: number, pid = 7): Promise<RunningService> {
  let requests = 0;
  const page = createServer((_, response) => {
    const ready = ++requests >= readyFrom;
    const conditions = ready ? [] : [{ name: "bus", detail: "away" }];
    response.end(JSON.stringify({ service: replica, pid, ready, conditions }));
  });
  pages.push(page.listen(0, "127.0.0.1"));
  await once(page, "listening");
  const healthUrl = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
  return { replica, healthUrl, pid: 7, supervised: { run: {} } } as unknown as RunningService;
}

const never = new Promise<never>(() => undefined);
const running = new AbortController().signal;

describe("services of a control plane", () => {
  it("are ready when the page of each says so", async () => {
    const services = [await service("ca", 1), await service("xds-server", 3)];
    let polls = 0;
    await allReady({ services, ended: never }, 60_000, () => void polls++, running);
    assert.equal(polls, 3);
  });
  it("are named that are not in time, not those that are", async () => {
    const services = [await service("ca", 1), await service("xds-server", 1_000_000), await service("webhook", 1, 8)];
    await assert.rejects(
      allReady({ services, ended: never }, 0, () => undefined, running),
      (error: Error) => {
        assert.match(error.message, /not ready after 0 s: xds-server \(.*away.*\), webhook \(.*is answered by .*\)$/);
        return true;
      },
    );
  });
  it("are not waited for when one has ended for good, nor after the end", async () => {
    const services = [await service("ca", 1_000_000)];
    const ended = Promise.reject(new Error("ca ended again and again"));
    await assert.rejects(
      allReady({ services, ended }, 60_000, () => undefined, running),
      /again and again/,
    );
    await allReady({ services, ended: never }, 60_000, () => undefined, AbortSignal.abort());
  });
});
