/** Messages of sets that are made of slices: each slice is encoded once. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decode, typeUrl as types } from "@flotilla/proto";
import { DeltaDiscoveryResponseSchema } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { Bodies, encodeDeltaBody, encodedSlice } from "./message-body.ts";
import { type Resource, ResourceSlice, SlicedResources } from "./resource-set.ts";

const aResource = (name: string): Resource => ({
  ...{ name, typeUrl: types.address, version: `version of ${name}`, bytes: Uint8Array.of(8, name.length) },
  aliases: [`alias of ${name}`],
});

const sliceOf = (...names: readonly string[]) => new ResourceSlice(names.map(aResource));

function setOf(slices: readonly ResourceSlice[], { distinct = true } = {}) {
  return { typeUrl: types.address, version: "1", byName: new SlicedResources(slices, { distinct }) };
}

const namesIn = (bytes: Uint8Array) => decode(DeltaDiscoveryResponseSchema, bytes).resources.map(({ name }) => name);

describe("the message of all resources in slices", () => {
  it("has the bytes that it has without slices", () => {
    const body = new Bodies().full(setOf([sliceOf("a", "b"), sliceOf(), sliceOf("c")]));
    const { typeUrl, resources, removed } = body;
    assert.equal(body.slices?.length, 3);
    assert.deepEqual(encodeDeltaBody(body), encodeDeltaBody({ typeUrl, resources, removed }));
    assert.deepEqual(namesIn(encodeDeltaBody(body)), ["a", "b", "c"]);
  });

  it("is made of encoded slices that the next set shares", () => {
    const [kept, before, after] = [sliceOf("a", "b"), sliceOf("c"), sliceOf("d")];
    const encoded = encodedSlice(kept);
    const bodies = new Bodies();
    for (const set of [setOf([kept, before]), setOf([kept, after])]) encodeDeltaBody(bodies.full(set));
    assert.equal(encodedSlice(kept), encoded);
    assert.deepEqual(namesIn(encoded), ["a", "b"]);
  });

  it("has a resource once where slices hold several of its name", () => {
    const body = new Bodies().full(setOf([sliceOf("a"), sliceOf("a", "b")], { distinct: false }));
    assert.deepEqual(namesIn(encodeDeltaBody(body)), ["a", "b"]);
  });
});
