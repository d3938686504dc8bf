/** Limits, keepalive and the protocol towards endpoints, by what a DestinationRule and the mesh give. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, type JsonObject, toJson } from "@flotilla/proto";
import { CircuitBreakersSchema } from "@flotilla/proto/envoy/config/cluster/v3/circuit_breaker_pb";
import {
  ConnectionPoolSettingsSchema,
  ConnectionPoolSettings_TCPSettings_TcpKeepaliveSchema as KeepaliveSchema,
  ConnectionPoolSettings_HTTPSettings_H2UpgradePolicy as Upgrade,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { fieldAt } from "../../../testing/kube-mesh.ts";
import {
  type CircuitBreakerInputs,
  circuitBreakers,
  connectionOptions,
  httpOptions,
  type ProtocolInputs,
  speaksHttp2,
} from "./connection-pool.ts";

type Pool = Parameters<typeof create<typeof ConnectionPoolSettingsSchema>>[1];
const poolOf = (pool: Pool) => create(ConnectionPoolSettingsSchema, pool);
const unlimited = 4_294_967_295;

describe("limits", () => {
  const limitsOf = (pool?: CircuitBreakerInputs["pool"], retryBudget?: CircuitBreakerInputs["retryBudget"]) => {
    const message = circuitBreakers({ tracksRemaining: false, pool, retryBudget });
    return fieldAt(toJson(CircuitBreakersSchema, message) as JsonObject, "thresholds.0");
  };
  const none = {
    maxConnections: unlimited,
    maxPendingRequests: unlimited,
    maxRequests: unlimited,
    maxRetries: unlimited,
  };

  it("are none where none is given, or 0", () => {
    assert.deepEqual(limitsOf(), none);
    assert.deepEqual(limitsOf(poolOf({ tcp: { maxConnections: 0 }, http: { maxRetries: 0 } })), none);
  });

  it("are those of the rule, each by itself", () => {
    const http = { http1MaxPendingRequests: 2, http2MaxRequests: 3, maxRetries: 4 };
    const given = { maxConnections: 1, maxPendingRequests: 2, maxRequests: 3, maxRetries: 4 };
    assert.deepEqual(limitsOf(poolOf({ tcp: { maxConnections: 1 }, http })), given);
  });

  it("of retries may be a budget, with Envoy's defaults for what it leaves out", () => {
    const budget = (percent: number | undefined, minRetryConcurrency: number) => {
      const given = { percent, minRetryConcurrency } as CircuitBreakerInputs["retryBudget"];
      return fieldAt(limitsOf(undefined, given) as JsonObject, "retryBudget");
    };
    assert.deepEqual(budget(undefined, 0), { budgetPercent: { value: 20 }, minRetryConcurrency: 3 });
    const timed = { percent: 5, minRetryConcurrency: 7, budgetInterval: { seconds: 9n, nanos: 0 } };
    const limits = limitsOf(undefined, timed as CircuitBreakerInputs["retryBudget"]) as JsonObject;
    assert.equal(fieldAt(limits, "retryBudget.budgetInterval"), "9s");
    assert.deepEqual(budget(5, 7), { budgetPercent: { value: 5 }, minRetryConcurrency: 7 });
  });
});

describe("keepalive", () => {
  const keepalive = (probes: number, seconds: bigint) =>
    create(KeepaliveSchema, { probes, time: { seconds, nanos: 0 }, interval: { seconds: seconds + 1n, nanos: 0 } });
  const optionsOf = (...given: Parameters<typeof connectionOptions>) => {
    const { keepaliveProbes, keepaliveTime, keepaliveInterval } =
      connectionOptions(...given).upstreamConnectionOptions?.tcpKeepalive ?? {};
    return [keepaliveProbes, keepaliveTime, keepaliveInterval];
  };

  it("is off where neither the mesh nor the rule has it", () => assert.deepEqual(connectionOptions(undefined), {}));
  it("is the mesh's", () => assert.deepEqual(optionsOf(keepalive(3, 10n)), [3, 10, 11]));
  it("is the rule's, value by value", () => {
    assert.deepEqual(optionsOf(keepalive(3, 10n), keepalive(4, 20n)), [4, 20, 21]);
    assert.deepEqual(optionsOf(keepalive(3, 10n), create(KeepaliveSchema, { probes: 5 })), [5, 10, 11]);
  });
  it("that names no value has the system's", () =>
    assert.deepEqual(optionsOf(create(KeepaliveSchema, {})), [undefined, undefined, undefined]));
});

describe("HTTP/2 towards endpoints", () => {
  const plain: ProtocolInputs = { protocol: "HTTP", meshUpgrades: false, sniffs: false };
  const upgrade = (h2UpgradePolicy: Upgrade) => poolOf({ http: { h2UpgradePolicy } });
  const cases: readonly (readonly [name: string, inputs: Partial<ProtocolInputs>, want: boolean])[] = [
    ["is not spoken at HTTP ports", {}, false],
    ["is spoken at HTTP2 ports", { protocol: "HTTP2" }, true],
    ["is spoken at GRPC ports", { protocol: "GRPC" }, true],
    ["is asked for by the mesh at HTTP ports", { meshUpgrades: true }, true],
    ["is not asked for by the mesh at TCP ports", { meshUpgrades: true, protocol: "TCP" }, false],
    ["is asked for by the rule", { pool: upgrade(Upgrade.UPGRADE) }, true],
    ["is asked for by the rule at TCP ports too", { pool: upgrade(Upgrade.UPGRADE), protocol: "TCP" }, true],
    ["is forbidden by the rule against the mesh", { pool: upgrade(Upgrade.DO_NOT_UPGRADE), meshUpgrades: true }, false],
    ["is not begun towards the workload itself", { meshUpgrades: true, mayUpgrade: false }, false],
    ["stays towards the workload itself", { protocol: "HTTP2", mayUpgrade: false }, true],
    [
      "is not spoken where headers keep their case",
      { preservesCase: true, meshUpgrades: true, pool: upgrade(Upgrade.UPGRADE) },
      false,
    ],
    ["is spoken at HTTP2 ports where headers keep their case", { preservesCase: true, protocol: "HTTP2" }, true],
    [
      "is asked for at TCP ports where headers keep their case",
      { preservesCase: true, protocol: "TCP", pool: upgrade(Upgrade.UPGRADE) },
      true,
    ],
    [
      "is the caller's choice where the rule says so",
      { protocol: "HTTP2", pool: poolOf({ http: { useClientProtocol: true } }) },
      false,
    ],
    [
      "is the caller's choice where the protocol is found out",
      { protocol: "Unsupported", sniffs: true, meshUpgrades: true },
      false,
    ],
  ];
  for (const [name, inputs, want] of cases) it(name, () => assert.equal(speaksHttp2({ ...plain, ...inputs }), want));

  it("needs no options where nothing but HTTP/1.1 is meant", () => {
    assert.deepEqual(httpOptions(plain), {});
    assert.deepEqual(httpOptions({ ...plain, protocol: "TCP", preservesCase: true }), {});
    for (const more of [
      { preservesCase: true },
      { autoSni: true },
      { pool: poolOf({ http: { maxRequestsPerConnection: 1 } }) },
      { pool: poolOf({ http: { http2KeepAlive: {} } }) },
      { protocol: "Unsupported" as const, preservesCase: true },
    ])
      assert.notDeepEqual(httpOptions({ ...plain, ...more }), {}, JSON.stringify(more));
  });
});
