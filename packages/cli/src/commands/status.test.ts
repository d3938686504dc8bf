import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import { recordRun } from "../recorded-run.fixture.ts";

const distribution = { live: 1, concerned: 1, refusals: [], isPrecise: true, behind: [], replicas: 1 };
const good = {
  object: "VirtualService/shop/web",
  ...{ state: "accepted", problems: [], warnings: [{ field: "", reason: "is never reached" }] },
  inForce: { generation: 9, by: "config-controller 1/2", distribution },
};
const refusal = { proxy: "web.shop", typeUrl: "envoy.config.cluster.v3.Cluster", message: "no" };
const refused = { ...good, inForce: { ...good.inForce, distribution: { ...distribution, refusals: [refusal] } } };
const cluster = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

describe("flotilla status", () => {
  let pages: Record<string, unknown>;
  const server = createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    const page = pages[path];
    response.writeHead(page === undefined ? 404 : 200).end(JSON.stringify(page ?? { error: `no page ${path}` }));
  });
  let url: string;
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    pages = {
      "/ready": { ready: true },
      "/debug/syncz": [{ proxy: "web.shop", resources: { [cluster]: { sent: "1", acked: "1" } } }],
      "/debug/objects": { generation: 9, total: 3, objects: [good] },
      "/debug/problems": { problems: [] },
      "/debug/push_status": {},
    };
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  const status = (...args: readonly string[]) => recordRun(["status", "--url", url, ...args]);

  it("is 0 where everything is ready and accepted, with doubts shown", async () => {
    const { code, out } = await status();
    assert.equal(code, 0);
    assert.match(out, /^ca +ready/m);
    assert.match(out, /^ {2}web\.shop +synced +- +- +-$/m);
    assert.match(out, /3 objects, generation 9: 2 in effect on every proxy that they concern/);
    assert.match(out, /warning: is never reached/);
  });

  const failures: readonly (readonly [string, string, unknown, RegExp])[] = [
    [
      "a service that is not ready",
      "/ready",
      { ready: false, conditions: { bus: "away" } },
      /starting +- +- +bus: away/,
    ],
    [
      "an object that a proxy refuses",
      "/debug/objects",
      { generation: 9, total: 1, objects: [refused] },
      /refused by web/,
    ],
    [
      ...["a file that cannot be read", "/debug/problems"],
      { problems: [{ file: "a.yaml", line: 3, object: "", reason: "is no YAML" }] },
      /1 refused by config-controller\n {2}a\.yaml:3 is no YAML/,
    ] as unknown as readonly [string, string, unknown, RegExp],
    [
      ...["a resource that a proxy rejects", "/debug/syncz"],
      [{ proxy: "web.shop", resources: { [cluster]: { sent: "1", lastError: "bad\ncluster" } } }],
      /rejected: bad cluster/,
    ] as unknown as readonly [string, string, unknown, RegExp],
  ];
  for (const [name, path, page, shown] of failures)
    it(`is 3 with ${name}`, async () => {
      pages[path] = page;
      const { code, out } = await status();
      assert.equal(code, 3);
      assert.match(out, shown);
    });

  it("is 4 where nothing answers", async () => {
    const { code, out } = await recordRun(["status", "--url", "ca=http://127.0.0.1:1", "-o", "json"]);
    assert.equal(code, 4);
    assert.equal(JSON.parse(out).services[0].state, "away");
  });

  it("of one object is 3 when a proxy refuses it, 1 when there is none", async () => {
    pages["/debug/objects"] = refused;
    assert.equal((await status("vs/web.shop")).code, 3);
    pages["/debug/objects"] = undefined;
    assert.equal((await status("vs/none.shop")).code, 1);
  });
});
