import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import type { Config, ConfigKey } from "@flotilla/model";
import type { PublishedObject } from "../follow/published-config.ts";
import { conditionsOf } from "./kubernetes/conditions.ts";
import { ObjectStatuses, RegistryProgress } from "./object-status.ts";
import { isSettled } from "./status-pages.ts";

const distribution = { live: 2, concerned: 2, refusals: [], isPrecise: true, behind: [], replicas: 1 };

type Analysis = ConstructorParameters<typeof ObjectStatuses>[0]["analysis"];

function statusOf(config: Partial<Config> & Pick<Config, "key">, analysis?: Analysis) {
  return statusesOf(config, analysis).of(config.key);
}

function statusesOf(config: Partial<Config> & Pick<Config, "key">, analysis?: Analysis) {
  const whole: Config = { labels: {}, annotations: {}, creationTimeMs: 0, spec: {}, ...config };
  const cause = { publisher: "p", epoch: "e", group: 1, objects: [], source: "", eventTimeMs: 0 };
  const object = { key: whole.key, config: whole, position: 7, cause } as unknown as PublishedObject;
  return new ObjectStatuses({
    published: { get: (_: ConfigKey) => object, all: function* () {}, epoch: "e", position: 7 },
    refused: () => [],
    conflicts: () => [],
    distributions: { of: () => distribution, findings: () => new Map() },
    progress: { effectOf: () => 7 },
    analysis,
  });
}

describe("the status of an object", () => {
  it("that nothing is generated from has the reason, and is not settled", () => {
    const spec = { parentRefs: [{ kind: "Mesh", name: "all" }] };
    const status = statusOf({ key: { kind: "HTTPRoute", namespace: "shop", name: "f" }, spec });
    assert.equal(status?.state, "accepted");
    assert.match(status?.noEffect ?? "", /^has no effect: it has no Gateway, ListenerSet, Service/);
    assert.deepEqual(status?.warnings[0], { field: "", reason: status?.noEffect });
    assert.equal(status && isSettled(status), false);
  });

  it("has what analysis finds among its warnings, and then has not passed analysis", () => {
    const key = { kind: "DestinationRule", namespace: "shop", name: "r" };
    const finding = { field: "spec.host", reason: "no service has host revews [IST0174]" };
    const status = statusOf({ key, spec: { host: "revews" } }, { of: () => [finding] });
    assert.deepEqual(status?.warnings, [finding]);
    const passed = status && conditionsOf(status, 1, [], "").find(({ type }) => type === "PassedAnalysis");
    assert.deepEqual([passed?.status, passed?.message], ["False", "spec.host: no service has host revews [IST0174]"]);
  });

  it("that is large has the warnings that were found aside, without another validation", async () => {
    const key = { kind: "VirtualService", namespace: "shop", name: "r" };
    const same = { match: [{ uri: { prefix: "/" } }], route: [{ destination: { host: "reviews" } }] };
    const spec = { hosts: ["reviews"], http: Array.from({ length: 800 }, () => same) };
    const statuses = statusesOf({ key, spec });
    await statuses.prepare(key);
    const before = process.threadCpuUsage();
    const status = statuses.of(key);
    const prepared = process.threadCpuUsage(before).user;
    const start = process.threadCpuUsage();
    assert.deepEqual(statusOf({ key, spec })?.warnings.slice(0, 1_000), status?.warnings.slice(0, 1_000));
    assert.ok(prepared < process.threadCpuUsage(start).user / 3, `${prepared} µs`);
  });

  it("that has an effect has none", () => {
    const spec = { host: "reviews" };
    const status = statusOf({ key: { kind: "DestinationRule", namespace: "shop", name: "r" }, spec });
    assert.equal(status?.noEffect, undefined);
    assert.equal(status && isSettled(status), true);
  });
});

test("a change takes effect where what follows from it was first published", () => {
  const progress = new RegistryProgress();
  const steps = [
    { epoch: "e", read: 5, published: 7 },
    { epoch: "e", read: 9, published: 8 },
    { epoch: "e", read: 9, published: 30 },
  ];
  assert.equal(progress.effectOf(1, "e"), undefined);
  for (const step of steps) progress.note(step);
  assert.deepEqual(
    [3, 5, 6, 9, 10].map((position) => progress.effectOf(position, "e")),
    [7, 7, 8, 9, undefined],
  );
  assert.equal(progress.effectOf(3, "another"), undefined);
  progress.note({ epoch: "another", read: 2, published: 3 });
  assert.deepEqual([progress.effectOf(1, "another"), progress.effectOf(3, "e")], [3, undefined]);
});
