import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl as types } from "@flotilla/proto";
import { until } from "@flotilla/runtime";
import { resource, startClient } from "../serve/testing/test-client.ts";
import { startTestServer } from "../serve/testing/test-server.ts";
import { proxyStatus } from "./proxy-status.ts";
import { proxiesOf, ReplicaParts } from "./replica-parts.ts";

const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 2 });
const names = (parts: ReadonlyMap<string, unknown>) => [...parts.keys()].map((name) => name.split(" ")[0]);

describe("replica parts", () => {
  it("report what equal proxies have once, and hold what each of them has", async () => {
    await using server = await startTestServer();
    const streams = () => server.connected.list();
    const acknowledged = (position: number) => async () =>
      streams().length === 3 && streams().every((stream) => stream.answeredPosition() === position);
    const replica = new ReplicaParts();
    server.source.put(types.cluster, [resource(types.cluster, "a", "1")]);
    await using one = startClient(server, { form: "delta", id: "sidecar~10.0.0.1~one.shop~shop.svc.cluster.local" });
    await using two = startClient(server, { form: "delta", id: "sidecar~10.0.0.2~two.shop~shop.svc.cluster.local" });
    await using old = startClient(server, { form: "sotw", id: "sidecar~10.0.0.3~old.shop~shop.svc.cluster.local" });
    for (const { client } of [one, two, old]) client.subscribe(types.cluster);
    await until(acknowledged(1), soon("the clusters"));

    const first = replica.of(streams());
    assert.deepEqual(names(first), ["connection", "connection", "connection", "group", "group"]);
    assert.deepEqual(new Set(proxiesOf(first)), new Set(streams().map(proxyStatus)));
    assert.deepEqual([...replica.of(streams()).values()], [...first.values()]);
    for (const [name, part] of replica.of(streams())) assert.equal(part, first.get(name), "nothing has changed");

    server.source.put(types.cluster, [resource(types.cluster, "a", "2")]);
    await until(acknowledged(2), soon("the change"));
    const second = replica.of(streams());
    const changed = [...second].filter(([name, part]) => first.get(name) !== part).map(([name]) => name.split(" ")[0]);
    assert.deepEqual(changed, ["group", "group"]);
    // As another replica reads them.
    const read = new Map([...second].map(([name, part]) => [name, JSON.parse(JSON.stringify(part)) as unknown]));
    assert.deepEqual(new Set(proxiesOf(read)), new Set(streams().map(proxyStatus)));
  });
});
