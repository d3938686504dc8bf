import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type JsonObject, toJson } from "@flotilla/proto";
import { ListenerFilterSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { fieldAt, inShort } from "../../../testing/kube-mesh.ts";
import { httpInspector, type InspectedPorts, tlsInspector } from "./listener-filters.ts";
import { exactBalance, originMetadata } from "./listener-parts.ts";

const port = (number: number) => `{destinationPortRange: {start: ${number}, end: ${number + 1}}}`;
const anyOf = (...numbers: readonly number[]) => `{orMatch: {rules: [${numbers.map(port).join(", ")}]}}`;

describe("an inspector", () => {
  const cases: readonly { readonly name: string; readonly ports: InspectedPorts; readonly disabled: string }[] = [
    { name: "looks at all ports", ports: {}, disabled: "none" },
    { name: "looks at all ports where none is to be skipped", ports: { skipPorts: [] }, disabled: "none" },
    { name: "skips a port", ports: { skipPorts: [80] }, disabled: port(80) },
    { name: "skips two ports", ports: { skipPorts: [80, 81] }, disabled: anyOf(80, 81) },
    { name: "skips three ports", ports: { skipPorts: [80, 81, 90] }, disabled: anyOf(80, 81, 90) },
    { name: "looks at one port alone", ports: { onlyPorts: [80] }, disabled: `{notMatch: ${port(80)}}` },
    { name: "looks at two ports alone", ports: { onlyPorts: [80, 90] }, disabled: `{notMatch: ${anyOf(80, 90)}}` },
    { name: "looks at all ports where it is to look at none alone", ports: { onlyPorts: [] }, disabled: "none" },
  ];
  for (const { name, ports, disabled } of cases)
    test(name, () => {
      for (const filter of [httpInspector(ports), tlsInspector(ports)])
        assert.equal(inShort(fieldAt(toJson(ListenerFilterSchema, filter) as JsonObject, "filterDisabled")), disabled);
    });
});

test("a filter chain names the object that it comes from", () => {
  const { filterMetadata } = originMetadata("/apis/networking.istio.io/v1/namespaces/shop/envoyfilter/a");
  assert.deepEqual(filterMetadata, { istio: { config: "/apis/networking.istio.io/v1/namespaces/shop/envoyfilter/a" } });
  assert.equal(exactBalance.balanceType.case, "exactBalance");
});
