/** The filters that find the workloads at both ends of a tunnel, with and without what tunnels say of themselves. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decode } from "@flotilla/proto";
import { TypedStructSchema } from "@flotilla/proto/udpa/type/v1/typed_struct_pb";
import { peerMetadataFilter } from "./filter-state.ts";

const found = { workload_discovery: {} };
const ofTunnel = { upstream_filter_state: { peer_metadata_key: "upstream_peer" } };
const downstream = { downstream_discovery: [found], shared_with_upstream: true };
const tunnelled = { downstream_discovery: [found, { baggage: {} }], downstream_propagation: [{ baggage: {} }] };
const cases: readonly (readonly [end: "downstream" | "upstream", baggage: boolean, config: object])[] = [
  ["downstream", false, downstream],
  ["downstream", true, { ...downstream, ...tunnelled }],
  ["upstream", false, { upstream_discovery: [found] }],
  ["upstream", true, { upstream_discovery: [found, ofTunnel] }],
];

describe("metadata of peers", () => {
  for (const [end, baggage, config] of cases)
    it(`of the ${end} end, ${baggage ? "also as tunnels name themselves" : "by address alone"}`, () => {
      const { name, configType } = peerMetadataFilter(end, baggage);
      assert.equal(name, `waypoint_${end}_peer_metadata`);
      assert.ok(configType.case === "typedConfig");
      const { value } = decode(TypedStructSchema, configType.value.value) as { readonly value?: unknown };
      assert.deepEqual(value, config);
    });
});
