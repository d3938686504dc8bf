import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { it, describe as suite } from "node:test";
import { recordRun } from "../recorded-run.fixture.ts";
import { describe } from "./explain.ts";

const reported = {
  proxy: "web.shop",
  name: "80",
  version: "abc",
  position: 9,
  since: { position: 7, at: "2026-01-01T00:00:00.000Z" },
  change: {
    causedBy: ["VirtualService/shop/reviews"],
    differences: [
      { path: "routes[0].weight", before: 80, after: 70 },
      { path: "routes[1]", after: { name: "b" } },
    ],
  },
  madeFrom: [
    { object: "VirtualService/shop/reviews", position: 7, at: "2026-01-01T00:00:00.000Z", source: "file a.yaml:3" },
    { object: "MeshConfig" },
    { object: "setting DOMAIN_SUFFIX" },
    { object: "setting ISTIO_DUAL_STACK" },
  ],
  delivery: { acknowledged: { position: 9, at: "2026-01-01T00:00:00.000Z" } },
};

suite("flotilla explain", () => {
  it("says since when, by what, what differs and what it is made of", () => {
    assert.equal(
      describe(reported),
      [
        "80 of web.shop, version abc, as of change 9",
        "as it is since change 7, 2026-01-01T00:00:00.000Z",
        "by VirtualService/shop/reviews",
        "  routes[0].weight: 80 → 70",
        '  routes[1]: nothing → {"name":"b"}',
        "made from",
        "  OBJECT                        CHANGE   TIME                       SOURCE",
        "  VirtualService/shop/reviews   7        2026-01-01T00:00:00.000Z   file a.yaml:3",
        "  MeshConfig",
        "by the settings DOMAIN_SUFFIX, ISTIO_DUAL_STACK",
        "acknowledged as of change 9, 2026-01-01T00:00:00.000Z",
      ].join("\n"),
    );
  });

  const deliveries: readonly (readonly [delivery: object, text: string])[] = [
    [{}, "not acknowledged yet"],
    [{ asked: false }, "the proxy does not subscribe to it: this is what it would get"],
    [{ refused: "no such cluster" }, "rejected by the proxy: no such cluster"],
    [{ ...reported.delivery, refused: "too long" }, "rejected by the proxy: too long"],
  ];
  for (const [delivery, text] of deliveries)
    it(`says what became of it: ${text}`, () => {
      assert.equal(
        describe({ ...reported, delivery })
          .split("\n")
          .at(-1),
        text,
      );
    });

  it("says why nothing is known of a change, and what an object was that is gone", () => {
    const [, since, by] = describe({
      ...reported,
      since: "since it is connected",
      change: { causedBy: [], differences: [] },
    }).split("\n");
    assert.deepEqual([since, by], ["since it is connected", "by an object that is gone"]);
    const { change: _, ...unchanged } = reported;
    assert.equal(describe(unchanged).split("\n")[2], "made from");
  });

  it("names the command that lists what there is", async () => {
    const { code, err } = await refused('web.shop gets no rds named "x"', ["web.shop", "rds", "x"]);
    assert.equal(code, 1);
    assert.match(err, /gets no rds named "x": `flotilla proxy-config routes web\.shop -o json` has all names/);
  });

  it("shows the reason of xds-server when it has no answer", async () => {
    const { code, err } = await refused("Proxy x.y is not connected\n", ["x.y", "rds", "80"]);
    assert.equal(code, 1);
    assert.equal(err, "flotilla: [CLI_ABSENT] Proxy x.y is not connected\n");
  });
});

/** The run beside an xds-server that answers with status 404. */
async function refused(answer: string, operands: readonly string[]) {
  const server = createServer((_, response) => response.writeHead(404).end(answer));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const run = await recordRun(["explain", ...operands, "--url", url]);
  server.close();
  server.closeAllConnections();
  return run;
}
