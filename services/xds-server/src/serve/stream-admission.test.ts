import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import type { RawCall } from "@flotilla/raw-grpc";
import { noopLogger } from "@flotilla/runtime";
import { Admission, StreamAdmission } from "./stream-admission.ts";

describe("admission", () => {
  it("lets a burst in at once, spreads the next ones, and turns away what would wait too long", () => {
    let nowMs = 0;
    const admission = new Admission({ perSecond: 10, burst: 2, maxWaitMs: 250, now: () => nowMs });
    const reserve = () => admission.reserve();
    assert.deepEqual([reserve(), reserve(), reserve(), reserve(), reserve()], [0, 0, 100, 200, undefined]);
    nowMs = 100;
    assert.deepEqual([reserve(), reserve()], [200, undefined], "one token came back, all wait their turn");
    nowMs = 10_000;
    assert.deepEqual([reserve(), reserve(), reserve()], [0, 0, 100], "no more than a burst is saved up");
  });
});

describe("a stream that is admitted", () => {
  const call = { host: "10.0.0.1", peer: "10.0.0.1:1", metadata: new Map() } as unknown as RawCall;
  const admissionOf = (perSecond: number) =>
    new StreamAdmission({
      admission: { perSecond, burst: 1, maxWaitMs: 60_000, now: () => 0 },
      ...{ isReady: () => true, log: noopLogger },
    });

  it("waits for its turn, the first one not", async () => {
    const admission = admissionOf(20);
    await admission.admit(call, undefined);
    const began = performance.now();
    await admission.admit(call, undefined);
    // Timers may fire a millisecond early.
    assert.ok(performance.now() - began >= 50 - 1);
  });
  it("is of the cluster that the alias its node states stands for", () => {
    const aliased = new StreamAdmission({
      admission: { perSecond: 1, burst: 1, maxWaitMs: 0, now: () => 0 },
      ...{ isReady: () => true, log: noopLogger, clusterAliases: new Map([["old", "east"]]) },
    });
    const clusterOf = (cluster: string) => {
      const id = "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local";
      const node = create(NodeSchema, { id, metadata: { CLUSTER_ID: cluster } });
      return aliased.clientOf(node, { identities: [] }).proxy.clusterId;
    };
    assert.deepEqual(["old", "east", "west"].map(clusterOf), ["east", "east", "west"]);
  });
  it("is none once the server ends", async () => {
    const admission = admissionOf(20);
    admission.close();
    await assert.rejects(admission.admit(call, undefined), /./);
  });
});
