/** Reports of other processes in shared buckets: the last readable one of each counts, as long as it is fresh. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { encodeTrustReport, trustReportTtlMs } from "@flotilla/auth";
import { connectBus } from "@flotilla/bus";
import { noopLogger, until } from "@flotilla/runtime";
import { replicaKey, SharedView } from "./shared-view.ts";

const day = 86_400_000;
const soon = (what: string) => ({ withinMs: 20_000, what });
let count = 0;

async function setUp() {
  const stop = new AbortController();
  const url = `embedded:shared-view-${++count}`;
  const bus = await connectBus({ url, clientName: "t", log: noopLogger }, stop.signal);
  const clock = { nowMs: 1_000 };
  const view = new SharedView(() => clock.nowMs);
  const [replicas, reports] = [await bus.keyValue("replicas"), await bus.keyValue("reports")];
  const following = Promise.all([
    view.followReplicas(replicas, () => undefined, stop.signal),
    view.followReports(reports, stop.signal),
  ]);
  const end = async () => {
    stop.abort(new Error("the end of the test"));
    await following.catch(() => undefined);
    await bus[Symbol.asyncDispose]();
  };
  return { clock, view, replicas, reports, [Symbol.asyncDispose]: end };
}

const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
const replica = (name: string, seenMs = 1_000) => ({ name, seenMs, applied: "r idle", root: "a" });
const proxy = (pod: string) => ({
  proxy: `sidecar~${pod}`,
  identities: ["spiffe://td/ns/a/sa/b"],
  pod,
  host: "10.0.0.1",
});

describe("replicas of ca", () => {
  it("are those that reported, until they are deleted or a day has passed", async () => {
    await using one = await setUp();
    const names = () => one.view.replicas().map(({ name }) => name);
    for (const name of ["ca-1", "ca-2"]) await one.replicas.put(replicaKey(name), bytes(replica(name)));
    await one.replicas.put("state", bytes({}));
    await until(() => names().length === 2, soon("both"));
    await one.replicas.put(replicaKey("ca-2"), bytes({ name: 7 }));
    await one.replicas.delete(replicaKey("ca-1"));
    await until(() => names().length === 1, soon("the end of one"));
    assert.deepEqual(names(), ["ca-2"], "what cannot be read changes nothing");
    one.clock.nowMs = 1_000 + day - 1;
    assert.deepEqual(names(), ["ca-2"]);
    one.clock.nowMs++;
    assert.deepEqual(names(), []);
  });
});

describe("proxies by the xds-server that serves them", () => {
  it("are those of each report, until it is deleted, replaced or too old", async () => {
    await using one = await setUp();
    const pods = () =>
      one.view
        .proxies()
        .map(({ pod }) => pod)
        .sort();
    await one.reports.put("a", encodeTrustReport([proxy("shop/a"), proxy("shop/b")]));
    await one.reports.put("b", encodeTrustReport([proxy("shop/c")]));
    await until(() => pods().length === 3, soon("all"));
    await one.reports.put("a", bytes("none"));
    await one.reports.delete("b");
    await until(() => pods().length === 2, soon("the end of one report"));
    assert.deepEqual(pods(), ["shop/a", "shop/b"], "what cannot be read changes nothing");
    one.clock.nowMs = 1_000 + trustReportTtlMs - 1;
    assert.equal(pods().length, 2);
    one.clock.nowMs++;
    assert.deepEqual(pods(), []);
  });
});
