/** Questions to services that do not answer, or refuse: an ordinary result that names the service. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { createServices } from "./services.ts";

async function open(answer: RequestListener) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const addresses = { ca: [{ name: "ca", url }], ...none };
  return {
    services: createServices({ addresses, timeoutMs: 100 }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const none = { "config-controller": [], "service-controller": [], "xds-server": [], webhook: [] };

describe("a service", () => {
  it("that does not answer in time is away for the request, which says so", async () => {
    await using it = await open(() => undefined);
    assert.deepEqual(await it.services.first("ca", { path: "/debug/settings" }), {
      isAnswered: false,
      away: { service: "ca", replica: "ca", reason: "timeout", message: "no answer within 100 ms" },
    });
  });

  it("whose answer stops in the middle is away as well", async () => {
    await using it = await open((_, response) => void response.writeHead(200).write('{"a":'));
    const answer = await it.services.first("ca", { path: "/debug/settings" });
    assert.equal(answer.isAnswered === false && answer.away.reason, "timeout");
  });

  const refusals = [
    { status: 403, body: '{"error":"denied"}', reason: "forbidden", message: "denied" },
    { status: 500, body: "broken", reason: "failed", message: "broken" },
  ] as const;
  for (const { status, body, reason, message } of refusals)
    it(`that answers ${status} is named with its reason`, async () => {
      await using it = await open((_, response) => void response.writeHead(status).end(body));
      assert.deepEqual(await it.services.first("ca", { path: "/debug/settings", token: "t" }), {
        ...{ isAnswered: false, status },
        away: { service: "ca", replica: "ca", reason, message },
      });
    });

  it("without an address is away, and none is asked", async () => {
    await using it = await open(() => assert.fail("asked"));
    const answer = await it.services.first("webhook", { path: "/debug/settings" });
    assert.equal(answer.isAnswered === false && answer.away.reason, "unknown-address");
  });
});
