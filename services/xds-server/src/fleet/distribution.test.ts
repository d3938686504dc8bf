import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Config, Service } from "@flotilla/model";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { Core } from "../app/core.ts";
import { createCoreSource } from "../app/core-source.ts";
import { ConnectedStreams } from "../serve/connected-streams.ts";
import { startTestServer, type TestServer } from "../serve/testing/test-server.ts";
import { applyOptionsOf } from "../testing/apply-options.ts";
import { aConfig, aService, put } from "../testing/mesh.ts";
import { Distribution } from "./distribution.ts";

const core = new Core();
const source = createCoreSource(core);
const connected = new ConnectedStreams();
const changedAt = new Map<string, number>();
let position = 0;
/** Answers are coming in. */
let isSettling = false;
const distribution = new Distribution({
  ...{ replica: "r", core, streams: () => connected.list(), position: () => source.position },
  ...{ epoch: () => "e", lastChange: (input) => changedAt.get(input), nowMs: () => 0 },
  isSettling: () => isSettling,
});
source.listen(distribution.changes);
const server: TestServer = await startTestServer({ options: { source, connected, observer: distribution.observer } });
const stop = new AbortController();
/** The rejection by clients: the text of the message, or undefined. */
let refusal: string | undefined;

function apply(...values: readonly (Service | Config)[]): number {
  const changes = put(...values);
  position++;
  for (const { key, type } of changes)
    if (type === "config") changedAt.set(`config/${key.kind}/${key.namespace}/${key.name}`, position);
  assert.deepEqual(source.apply(changes, applyOptionsOf(changes, position)), []);
  return position;
}

function connect(name: string, namespace: string): void {
  const client = new XdsClient({
    form: "delta",
    node: create(NodeSchema, {
      id: `sidecar~10.0.0.1~${name}.${namespace}~${namespace}.svc.cluster.local`,
      metadata: { NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", LABELS: { app: name } },
    }),
    transport: grpcTransport({ address: server.address }),
    backoffMs: () => 1,
    onUpdate: () => undefined,
    check: ({ typeUrl: type }) => (type === typeUrl.cluster ? refusal : undefined),
  });
  for (const type of [typeUrl.cluster, typeUrl.listener]) client.subscribe(type);
  void client.run(stop.signal);
}

let last = distribution.next();
const report = () => {
  last = distribution.next() ?? last;
  return last;
};
const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 2 });
const allAnswered = () => {
  const { answered = [] } = report() ?? {};
  return answered.length === 1 && answered[0]?.[0] === position && answered[0]?.[1] === 3;
};

describe("distribution", () => {
  before(async () => {
    apply(aService("reviews", "shop"), aService("ledger", "bank"));
    connect("web", "shop");
    connect("cart", "shop");
    connect("till", "bank");
    await until(() => server.connected.list().length === 3, soon("three streams"));
    await until(allAnswered, soon("all to answer"));
  });
  after(async () => {
    stop.abort();
    await server[Symbol.asyncDispose]();
  });

  it("counts the proxies that an object concerns, and only these", async () => {
    const at = apply(aConfig("AuthorizationPolicy", "shop", "deny", {}));
    await until(allAnswered, soon("all to answer"));
    assert.deepEqual(report()?.objects["AuthorizationPolicy/shop/deny"], { position: at, reached: 2, waiting: 0 });
  });

  it("says nothing new while nothing is", async () => {
    await until(allAnswered, soon("all to answer"));
    distribution.next();
    assert.equal(distribution.next(), undefined);
  });

  it("names the object behind what is refused, with the proxy's words, until it is accepted", async () => {
    const host = "reviews.shop.svc.cluster.local";
    const rule = (trafficPolicy: Config["spec"]) =>
      aConfig("DestinationRule", "shop", "reviews", { host, trafficPolicy } as never);
    refusal = `Error adding/updating cluster(s) outbound|80||${host}: it is too large`;
    apply(rule({ connectionPool: { tcp: { maxConnections: 7 } } }));
    await until(() => report()?.refusals.length === 3, soon("the refusals"));
    const [first] = report()?.refusals ?? [];
    assert.deepEqual(first?.objects, ["DestinationRule/shop/reviews"]);
    assert.deepEqual(first.resources, [`outbound|80||${host}`]);
    assert.equal(first.message, refusal);
    assert.ok(allAnswered(), "refusing is an answer");
    refusal = `It begins ${"and goes on ".repeat(1_000)} and ends: too large`;
    apply(rule({ connectionPool: { tcp: { maxConnections: 9 } } }));
    const words = () => report()?.refusals[0]?.message ?? "";
    await until(() => /^It begins .{400,1200} too large$/.test(words()), soon("the shortened words"));
    refusal = undefined;
    apply(rule({ connectionPool: { tcp: { maxConnections: 8 } } }));
    await until(() => report()?.refusals.length === 0, soon("the end of the refusals"));
  });

  it("reports a change at once, unless answers to changes are coming in", async () => {
    await until(allAnswered, soon("all to answer"));
    const afterChange = (name: string) => {
      apply(aConfig("AuthorizationPolicy", "shop", name, {}));
      return distribution.next();
    };
    afterChange("first");
    assert.equal(afterChange("second")?.position, position);
    isSettling = true;
    assert.equal(afterChange("third"), undefined);
    isSettling = false;
    assert.equal(distribution.next()?.position, position);
  });

  it("looks again when proxies come and go", async () => {
    connect("new", "shop");
    const reached = () => report()?.objects["AuthorizationPolicy/shop/deny"]?.reached;
    await until(() => reached() === 3, soon("the new one to be counted"));
  });
});
