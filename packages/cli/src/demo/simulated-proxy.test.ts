/** The demo without an Envoy: what a simulated proxy asks for and shows of the answers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, decode, encode, fromJson, pack, typeUrl } from "@flotilla/proto";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import type { ClientTransport } from "@flotilla/xds/client";
import { Checks } from "./checks.ts";
import { checkSimulated } from "./simulated-proxy.ts";

function routes(subsets: readonly string[]) {
  const clusters = subsets.map((name) => ({ name, weight: 1 }));
  const route = subsets.length > 1 ? { weightedClusters: { clusters } } : { cluster: subsets[0] ?? "" };
  const virtualHosts = [{ name: "reviews", domains: ["*"], routes: [{ match: { prefix: "/" }, route }] }];
  return fromJson(RouteConfigurationSchema, { name: "8080", virtualHosts });
}

/** Answers the first request of each type, and sends routes again when they change. */
function aServer(first: readonly string[]) {
  const asked: (readonly [type: string, names: readonly string[]])[] = [];
  const metadata: unknown[] = [];
  let send: (response: Uint8Array) => void = () => undefined;
  let close: () => void = () => undefined;
  const answer = (url: string, name: string, resource = routes(first)) => {
    const any = { ...pack(RouteConfigurationSchema, resource), typeUrl: url };
    const resources = [{ name, version: "1", resource: any }];
    send(
      encode(
        DeltaDiscoveryResponseSchema,
        create(DeltaDiscoveryResponseSchema, { typeUrl: url, nonce: name, resources }),
      ),
    );
  };
  const transport: ClientTransport = {
    open: () => {
      const waiting: Uint8Array[] = [];
      let wake = Promise.withResolvers<void>();
      let isOpen = true;
      send = (response) => {
        waiting.push(response);
        wake.resolve();
      };
      close = () => {
        isOpen = false;
        wake.resolve();
      };
      const responses = (async function* () {
        while (isOpen) {
          yield* waiting.splice(0);
          await wake.promise;
          wake = Promise.withResolvers();
        }
      })();
      return {
        send: (bytes) => {
          const request = decode(DeltaDiscoveryRequestSchema, bytes);
          if (request.node !== undefined) metadata.push(request.node.id, request.node.metadata);
          if (request.responseNonce !== "") return;
          asked.push([request.typeUrl, request.resourceNamesSubscribe]);
          answer(request.typeUrl, request.resourceNamesSubscribe[0] ?? "any");
        },
        responses,
        close: () => close(),
      };
    },
  };
  return {
    transport,
    asked,
    metadata,
    change: (subsets: readonly string[]) => answer(typeUrl.route, "8080", routes(subsets)),
  };
}

async function linesOf(first: readonly string[]) {
  const server = aServer(first);
  const lines: string[] = [];
  const mesh = { path: "", routeAllTo: (version: string) => server.change([version]) };
  await checkSimulated(new Checks((line) => lines.push(line.trim())), server.transport, mesh);
  return { ...server, lines: lines.map((line) => line.replace(/\d+ ms/, "some ms")) };
}

describe("a simulated proxy", () => {
  it("gets all types as a sidecar of the demo, and a route that changes", async () => {
    const { lines, asked, metadata } = await linesOf(["v1", "v2"]);
    assert.deepEqual(lines, [
      "ok    a simulated proxy gets clusters, listeners and routes: 1 clusters, 1 listeners, 1 routes",
      "ok    a changed file changes the route it has: received after some ms",
    ]);
    assert.deepEqual(
      asked.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([type, names]) => [type, names[0]]),
      [
        [typeUrl.cluster, "*"],
        [typeUrl.listener, "*"],
        [typeUrl.route, "8080"],
      ].toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1)),
    );
    assert.match(String(metadata[0]), /^sidecar~127\.0\.1\.11~web\.shop~/);
  });

  it("fails where the route has no weights to lose", async () => {
    const { lines } = await linesOf(["v1"]);
    assert.equal(lines[1], "FAIL  a changed file changes the route it has: the route has no weights");
  });
});
