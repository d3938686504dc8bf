/** A proxy's place on a stream to a control plane within the process: what it asks for, what it holds, and what it forgets. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, decode, encode, fromJson, type GenMessage, type JsonObject, typeUrl } from "@flotilla/proto";
import { ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { ClusterLoadAssignmentSchema } from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_pb";
import { ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import {
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import type { ClientStream, ClientTransport } from "./client.ts";
import { type ProxyKind, ProxySession } from "./proxy-session.ts";

const schemas: Readonly<Record<string, GenMessage<never>>> = {
  [typeUrl.cluster]: ClusterSchema as never,
  [typeUrl.listener]: ListenerSchema as never,
  [typeUrl.endpoint]: ClusterLoadAssignmentSchema as never,
  [typeUrl.route]: RouteConfigurationSchema as never,
};

type Table = Record<string, readonly JsonObject[]>;

/** Answers each subscription in state of the world with what the table has of it; `push` sends a type again. */
class ScriptedServer implements ClientTransport {
  readonly asked: string[] = [];
  readonly #table: Table;
  readonly #names = new Map<string, readonly string[]>();
  #stream: Queue | undefined;
  #nonce = 0;
  refusal: Error | undefined;

  constructor(table: Table) {
    this.#table = table;
  }

  open(): ClientStream {
    if (this.refusal !== undefined) throw this.refusal;
    const queue = new Queue();
    this.#stream = queue;
    this.#names.clear();
    return {
      send: (bytes) => {
        const { typeUrl: type, resourceNames } = decode(DiscoveryRequestSchema, bytes);
        const before = this.#names.get(type);
        if (before !== undefined && before.join() === resourceNames.join()) return;
        this.#names.set(type, resourceNames);
        this.asked.push(`${short(type)} ${resourceNames.join(" ")}`.trim());
        this.push(type);
      },
      responses: queue,
      close: () => queue.end(),
    };
  }

  /** Ends the stream. */
  lose(): void {
    this.#stream?.end();
  }

  set(type: string, resources: readonly JsonObject[]): void {
    this.#table[type] = resources;
    this.push(type);
  }

  push(type: string): void {
    const schema = schemas[type];
    const names = this.#names.get(type);
    if (schema === undefined || names === undefined) return;
    const all = this.#table[type] ?? [];
    const isAll = type === typeUrl.cluster || type === typeUrl.listener;
    const sent = all.filter(
      (one) => (isAll && names.length === 0) || names.includes(String(one["name"] ?? one["clusterName"])),
    );
    const resources = sent.map((one) => ({ typeUrl: type, value: encode(schema, fromJson(schema, one)) }));
    const nonce = String(++this.#nonce);
    this.#stream?.put(
      encode(
        DiscoveryResponseSchema,
        create(DiscoveryResponseSchema, { typeUrl: type, versionInfo: nonce, nonce, resources }),
      ),
    );
  }
}

class Queue implements AsyncIterable<Uint8Array> {
  #items: Uint8Array[] = [];
  #wake = Promise.withResolvers<void>();
  #isEnded = false;

  put(item: Uint8Array): void {
    this.#items.push(item);
    this.#wake.resolve();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    while (true) {
      yield* this.#items.splice(0);
      if (this.#isEnded) return;
      this.#wake = Promise.withResolvers();
      if (this.#items.length === 0) await this.#wake.promise;
    }
  }
}

const short = (type: string): string => type.replace(/^.*\./, "");
const connectionManager = (routeConfigName: string) => ({
  filters: [
    {
      name: "envoy.filters.network.http_connection_manager",
      typedConfig: {
        "@type":
          "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        rds: { routeConfigName },
      },
    },
  ],
});
const listener = (name: string, route: string): JsonObject => ({ name, filterChains: [connectionManager(route)] });
const table = (): Table => ({
  [typeUrl.cluster]: [
    { name: "a", type: "EDS" },
    { name: "b", type: "STATIC" },
  ],
  [typeUrl.endpoint]: [{ clusterName: "a" }],
  [typeUrl.listener]: [listener("l", "80")],
  [typeUrl.route]: [{ name: "80" }, { name: "81" }],
});

function aSession(server: ScriptedServer, kind: ProxyKind = "envoy", targets: readonly string[] = []): ProxySession {
  return new ProxySession({ transport: server, form: "sotw", node: create(NodeSchema, { id: "n" }), kind, targets });
}

/** Until nothing more arrives. */
async function settle(session: ProxySession): Promise<void> {
  while (await session.nextUpdate(100));
}

function held(session: ProxySession): Record<string, readonly string[]> {
  return Object.fromEntries([...session.capture()].map(([type, of]) => [type, [...of.keys()]]));
}

describe("a proxy's session", () => {
  it("asks for what it has everything of, and follows the names in it", async () => {
    const server = new ScriptedServer(table());
    await using session = aSession(server);
    await settle(session);
    assert.deepEqual(server.asked, [
      "Cluster",
      "Listener",
      "NameTable",
      "ClusterLoadAssignment a",
      "RouteConfiguration 80",
    ]);
    assert.deepEqual(held(session), { cds: ["a", "b"], lds: ["l"], eds: ["a"], rds: ["80"] });
  });

  it("asks for new names and forgets those that nothing refers to any more", async () => {
    const server = new ScriptedServer(table());
    await using session = aSession(server);
    await settle(session);
    server.asked.length = 0;
    server.set(typeUrl.listener, [listener("l", "81")]);
    server.set(typeUrl.cluster, [{ name: "b", type: "STATIC" }]);
    await settle(session);
    assert.deepEqual(held(session), { cds: ["b"], lds: ["l"], rds: ["81"] });
    assert.deepEqual(server.asked.toSorted(), ["ClusterLoadAssignment", "RouteConfiguration", "RouteConfiguration 81"]);
  });

  it("notes what arrived, and whether it was there already", async () => {
    const server = new ScriptedServer(table());
    await using session = aSession(server);
    await settle(session);
    const types = session.takeReceived().map(({ type }) => type);
    assert.deepEqual(types, ["cds", "lds", "eds", "rds"]);
    assert.deepEqual(session.takeReceived(), []);
    server.set(typeUrl.cluster, [{ name: "a", type: "EDS", connectTimeout: "1s" }]);
    server.push(typeUrl.route);
    await settle(session);
    assert.deepEqual(session.takeReceived(), [
      { type: "cds", resources: [{ name: "a", isSame: false }], removed: ["b"] },
      { type: "rds", resources: [{ name: "80", isSame: true }], removed: [] },
    ]);
  });

  it("keeps what it holds over a lost stream, and asks for all of it again", async () => {
    const server = new ScriptedServer(table());
    await using session = aSession(server);
    await settle(session);
    server.asked.length = 0;
    server.refusal = new Error("unavailable");
    server.lose();
    assert.equal(await session.nextUpdate(250), false);
    assert.equal(session.lastError, server.refusal);
    assert.deepEqual(held(session)["eds"], ["a"]);
    server.refusal = undefined;
    assert.equal(await session.nextUpdate(2_000), true);
    await settle(session);
    assert.deepEqual(server.asked.toSorted(), [
      "Cluster",
      "ClusterLoadAssignment a",
      "Listener",
      "NameTable",
      "RouteConfiguration 80",
    ]);
  });

  it("of a gRPC client asks for listeners by name, and for clusters that routes lead to", async () => {
    const api = {
      name: "web:80",
      apiListener: {
        apiListener: {
          "@type": connectionManager("r").filters[0]?.typedConfig["@type"] ?? "",
          rds: { routeConfigName: "r" },
        },
      },
    };
    const route = {
      name: "r",
      virtualHosts: [{ name: "v", domains: ["*"], routes: [{ match: { prefix: "" }, route: { cluster: "a" } }] }],
    };
    const server = new ScriptedServer({ ...table(), [typeUrl.listener]: [api], [typeUrl.route]: [route] });
    await using session = aSession(server, "grpc", ["web:80"]);
    await settle(session);
    assert.deepEqual(server.asked, ["Listener web:80", "RouteConfiguration r", "Cluster a", "ClusterLoadAssignment a"]);
    assert.deepEqual(held(session), { lds: ["web:80"], rds: ["r"], cds: ["a"], eds: ["a"] });
  });

  it("of a ztunnel asks for addresses and policies alone", async () => {
    const server = new ScriptedServer(table());
    await using session = aSession(server, "ztunnel");
    await settle(session);
    assert.deepEqual(server.asked, ["Address", "Authorization"]);
  });

  it("is settled once everything is answered that it needs to be ready, if only with nothing", async () => {
    const server = new ScriptedServer({ ...table(), [typeUrl.listener]: [] });
    await using session = aSession(server);
    assert.deepEqual(await session.settle({ answerMs: 2_000, quietMs: 50 }), []);
    assert.deepEqual(held(session), { cds: ["a", "b"], lds: [], eds: ["a"] });
  });

  it("names the types that nothing answers in time", async () => {
    const server = new ScriptedServer(table());
    await using session = aSession(server, "ztunnel");
    assert.deepEqual(await session.settle({ answerMs: 50, quietMs: 10 }), ["wds", "wads"]);
  });
});
