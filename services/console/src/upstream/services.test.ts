/** Questions to services that do not answer, or refuse: an ordinary result that names the service. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { readSettings } from "../settings.ts";
import { addressesOf, createServices } from "./services.ts";

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

describe("the addresses of services", () => {
  const of = (text: string) => addressesOf(readSettings({ CONSOLE_XDS_SERVER: text }))["xds-server"];
  const cases = [
    {
      name: "has the service's name",
      text: "http://10.0.0.1:8080/",
      expected: [["xds-server", "http://10.0.0.1:8080"]],
    },
    { name: "has the name that is given", text: "one=https://x.test", expected: [["one", "https://x.test"]] },
    {
      name: "of several has the host's, or the one that is given",
      text: "http://a:1,two=http://b:2",
      expected: [
        ["a:1", "http://a:1"],
        ["two", "http://b:2"],
      ],
    },
  ];
  for (const { name, text, expected } of cases)
    it(`each ${name}`, () =>
      assert.deepEqual(
        of(text).map((one) => [one.name, one.url]),
        expected,
      ));
  for (const text of ["xds:8080", "ftp://xds", "one=", "http://"])
    it(`are refused with ${text}`, () => assert.throws(() => of(text), { code: "SETTINGS_INVALID" }));
});
