import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decode, typeUrl as types } from "@flotilla/proto";
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { messageOf } from "@flotilla/raw-grpc";
import type { MessageBody } from "@flotilla/xds";
import { MessageCache } from "./message-cache.ts";

function body(name: string, bytes = 10, removed: readonly string[] = []): MessageBody {
  const resource = { name, typeUrl: types.cluster, version: `v of ${name}`, bytes: new Uint8Array(bytes).fill(7) };
  return { typeUrl: types.cluster, resources: [resource], removed };
}

function cacheOf(maxBytes = 1_000_000) {
  const time = { ms: 0 };
  return { time, cache: new MessageCache({ maxBytes, now: () => time.ms, noncePrefix: "p-" }) };
}

describe("message cache", () => {
  it("encodes what clients decode, in both forms", () => {
    const { cache } = cacheOf();
    const sotw = cache.encode("sotw", body("a"), "v1", 0);
    const response = decode(DiscoveryResponseSchema, messageOf(sotw.frame));
    assert.deepEqual([response.versionInfo, response.nonce, response.typeUrl], ["v1", sotw.nonce, types.cluster]);
    assert.deepEqual(
      response.resources.map(({ typeUrl, value }) => [typeUrl, value.length]),
      [[types.cluster, 10]],
    );

    const delta = cache.encode("delta", body("a", 300, ["b", "c"]), "v2", 0);
    const incremental = decode(DeltaDiscoveryResponseSchema, messageOf(delta.frame));
    assert.deepEqual([incremental.systemVersionInfo, incremental.nonce], ["v2", delta.nonce]);
    assert.deepEqual(incremental.removedResources, ["b", "c"]);
    const [resource] = incremental.resources;
    assert.deepEqual([resource?.name, resource?.version, resource?.resource?.value.length], ["a", "v of a", 300]);
  });

  it("streams that have not used its nonce share a message, one that has gets another nonce", () => {
    const { cache } = cacheOf();
    const shared = body("a");
    const one = cache.encode("delta", shared, "v", 0);
    assert.equal(cache.encode("delta", shared, "v", 0), one, "the same message for another stream");
    const again = cache.encode("delta", shared, "v", one.serial);
    assert.notEqual(again.nonce, one.nonce);
    assert.equal(cache.encode("delta", shared, "v", 0), again);
    assert.notEqual(cache.encode("delta", shared, "w", 0).nonce, again.nonce, "another version is another message");
    assert.deepEqual(
      decode(DeltaDiscoveryResponseSchema, messageOf(one.frame)).resources,
      decode(DeltaDiscoveryResponseSchema, messageOf(again.frame)).resources,
    );
  });

  it("stays within its bytes, dropping what was used least recently", () => {
    const { cache } = cacheOf(3_000);
    const [a, b, c] = [body("a", 1_000), body("b", 1_000), body("c", 1_000)];
    const first = cache.encode("sotw", a, "v", 0);
    cache.encode("sotw", b, "v", 0);
    cache.encode("sotw", a, "v", 0);
    cache.encode("sotw", c, "v", 0);
    assert.ok(cache.bytes <= 3_000);
    assert.equal(cache.encode("sotw", a, "v", 0), first);
  });

  it("drops messages that were not sent for a while, to the last byte", () => {
    const { cache, time } = cacheOf();
    cache.encode("sotw", body("a"), "v", 0);
    const b = body("b");
    cache.encode("delta", b, "v", 0);
    time.ms = 900;
    cache.encode("delta", b, "w", 0);
    time.ms = 1_500;
    cache.sweep(1_000);
    assert.ok(cache.bytes > 0);
    time.ms = 3_000;
    cache.sweep(1_000);
    assert.equal(cache.bytes, 0);
  });
});
