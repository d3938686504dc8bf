/** The demo's checks of traffic, with one HTTP server in place of the proxies: each line fails for its own reason only. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { Checks } from "./checks.ts";
import { checkTraffic } from "./traffic-checks.ts";

/** How the proxies behave. */
interface Behaviour {
  /** Every n-th request goes to v2. */
  readonly everyNth?: number;
  readonly canary?: string;
  readonly quotes?: { readonly status: number; readonly version: string };
  readonly caller?: string | undefined;
  readonly isPlainRefused?: boolean;
  readonly rejected?: number;
  readonly afterSwitch?: readonly string[];
}

const proven = "By=spiffe://cluster.local/ns/shop/sa/reviews;URI=spiffe://cluster.local/ns/shop/sa/web";

async function linesOf(behaviour: Behaviour): Promise<readonly string[]> {
  const { everyNth = 10, canary = "v2", quotes = { status: 200, version: "quotes" }, rejected = 0 } = behaviour;
  const caller = "caller" in behaviour ? behaviour.caller : proven;
  let requests = 0;
  let switched: readonly string[] | undefined;
  const versionOf = (isCanary: boolean): string => {
    requests++;
    if (switched !== undefined) return switched[requests % switched.length] ?? "";
    if (isCanary) return canary;
    return requests % everyNth === 0 ? "v2" : "v1";
  };
  const proxy = createServer(({ headers }, response) => {
    const isQuote = headers.host === "quotes.example.com:8080";
    const version = isQuote ? quotes.version : versionOf(headers["x-canary"] === "yes");
    const seen = caller === undefined ? {} : { "x-forwarded-client-cert": caller };
    response.writeHead(isQuote ? quotes.status : 200).end(JSON.stringify({ version, path: "/", headers: seen }));
  });
  const sidecar = createServer((_, response) => void response.end());
  for (const server of [proxy, sidecar]) await once(server.listen(0, "127.0.0.1"), "listening");
  const addressOf = (server: typeof proxy) => ({ host: "127.0.0.1", port: (server.address() as AddressInfo).port });
  const addresses = { client: addressOf(proxy), server: addressOf(sidecar) };
  if (behaviour.isPlainRefused ?? true) await new Promise((resolve) => sidecar.close(resolve));
  const stats = (name: string) => async (pattern: RegExp) =>
    new Map(Object.entries({ [`${name}.update_rejected`]: rejected, other: 7 }).filter(([key]) => pattern.test(key)));
  const envoy = (name: string) => ({ name, stats: stats(name) });
  const lines: string[] = [];
  const checks = new Checks((line) => lines.push(line.trim()));
  const mesh = {
    path: "",
    routeAllTo: (version: string) => {
      switched = behaviour.afterSwitch ?? [version];
    },
  };
  await checkTraffic(checks, { addresses, client: envoy("web"), server: envoy("reviews") }, mesh);
  for (const server of [proxy, sidecar]) {
    server.closeAllConnections();
    server.close();
  }
  return lines;
}

describe("checks of the demo's traffic", () => {
  it("pass where proxies do what the mesh says", async () => {
    const lines = (await linesOf({})).map((line) => line.replace(/after \d+ ms/, "after some ms"));
    assert.deepEqual(lines, [
      "ok    requests are split 90/10 by the VirtualService: v1 450, v2 50",
      "ok    a header chooses the canary: 20 of 20 to v2",
      "ok    a service outside of the mesh is reached by its host name: 200",
      "ok    the sidecars speak mutual TLS with certificates from ca: v1 saw spiffe://cluster.local/ns/shop/sa/web",
      "ok    plain text to the sidecar is refused in STRICT mode: refused (ECONNREFUSED)",
      "ok    a changed file changes the route: v2 200; in effect after some ms",
      "ok    Envoy web rejected nothing: update_rejected 0",
      "ok    Envoy reviews rejected nothing: update_rejected 0",
    ]);
  });

  const failures: readonly (readonly [name: string, behaviour: Behaviour, failed: readonly string[]])[] = [
    ["no request of the smaller share", { everyNth: 1000 }, ["requests are split"]],
    ["too many of the smaller share", { everyNth: 2 }, ["requests are split"]],
    ["a header without effect", { canary: "v1" }, ["a header chooses"]],
    ["a host name that fails", { quotes: { status: 503, version: "quotes" } }, ["a service outside"]],
    ["a host name of another service", { quotes: { status: 200, version: "v1" } }, ["a service outside"]],
    ["a caller without a certificate", { caller: undefined }, ["the sidecars speak"]],
    ["a caller with another certificate", { caller: "URI=spiffe://cluster.local/ns/x/sa/web" }, ["the sidecars speak"]],
    ["a sidecar that takes plain text", { isPlainRefused: false }, ["plain text to"]],
    ["a resource that was rejected", { rejected: 1 }, ["Envoy web", "Envoy reviews"]],
    [
      "a route that is followed for a moment only",
      { afterSwitch: [...Array.from({ length: 40 }, () => "v2"), "v1"] },
      ["a changed file"],
    ],
  ];
  for (const [name, behaviour, failed] of failures)
    it(`fail for ${name}`, async () => {
      const lines = (await linesOf(behaviour)).filter((line) => line.startsWith("FAIL"));
      assert.deepEqual(
        lines.map((line) => failed.find((start) => line.startsWith(`FAIL  ${start}`)) ?? line),
        failed,
      );
    });

  it("say what was seen instead", async () => {
    const lines = await linesOf({ everyNth: 2, caller: undefined, rejected: 3 });
    const text = lines.filter((line) => line.startsWith("FAIL")).join("\n");
    assert.match(text, /: v1 2\d\d, v2 2\d\d, want v2 in \d+\.\.\d+$/m);
    assert.match(text, /: v1 saw x-forwarded-client-cert "missing", without spiffe:/m);
    assert.match(text, /: web\.update_rejected 3$/m);
  });
});
