/** A Gateway as a waypoint: its inbound binding, who may attach to it, and the traffic that it takes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inboundBinding, mayAttach, type Waypoint, waypointAttachment, waypointOf } from "./waypoint.ts";

const name = "ambient.istio.io/waypoint-inbound-binding";
const own = (text?: string) => ({ annotations: text === undefined ? {} : { [name]: text } });
const classOf = (controllerName: string, text?: string) => ({ ...own(text), controllerName }) as never;

const cases: readonly (readonly [string, ReturnType<typeof own>, never | undefined, object | undefined])[] = [
  ["a protocol and a port", own("PROXY/15088"), undefined, { protocol: "PROXY", port: 15_088 }],
  ["a protocol alone", own("NONE"), undefined, { protocol: "NONE", port: 0 }],
  ["that of its class", own(), classOf("example.com/c", "PROXY/15088"), { protocol: "PROXY", port: 15_088 }],
  [
    "its own before that of its class",
    own("NONE/1"),
    classOf("example.com/c", "PROXY/2"),
    { protocol: "NONE", port: 1 },
  ],
  ["none without an annotation", own(), undefined, undefined],
  [
    "its own in the mesh's own class",
    own("PROXY/15088"),
    classOf("istio.io/mesh-controller"),
    { protocol: "PROXY", port: 15_088 },
  ],
  ["none of an unknown protocol", own("HTTP/80"), undefined, undefined],
  ["without a port where that is no number", own("PROXY/x"), undefined, { protocol: "PROXY", port: 0 }],
  ["without a port where that has six digits", own("PROXY/123456"), undefined, { protocol: "PROXY", port: 0 }],
  ["none of three parts", own("PROXY/1/2"), undefined, undefined],
];

describe("an inbound binding", () => {
  for (const [text, gateway, gatewayClass, is] of cases)
    it(`is ${text}`, () => assert.deepEqual(inboundBinding(gateway, gatewayClass), is));
});

const listener = (protocol: string, port: number, from: string, selector?: object) => ({
  ...{ name: protocol, protocol, port },
  allowedRoutes: { namespaces: { from, ...(selector === undefined ? {} : { selector }) } },
});
const [hbone, proxied, plain] = [
  listener("HBONE", 15_008, "All"),
  listener("istio.io/PROXY", 15_088, "Selector", { matchLabels: { a: "b" } }),
  listener("TCP", 15_088, "All"),
];

const attachments: readonly (readonly [
  string,
  readonly object[],
  Parameters<typeof waypointAttachment>[1],
  readonly string[],
])[] = [
  ["that of tunnels without a binding", [proxied, hbone], undefined, ["other", "labelled", "own"]],
  ["that of a binding before that of tunnels", [hbone, proxied], { protocol: "PROXY", port: 0 }, ["labelled"]],
  ["any on the binding's port", [hbone, plain], { protocol: "PROXY", port: 15_088 }, ["other", "labelled", "own"]],
  ["that of tunnels where the binding has none", [hbone], { protocol: "PROXY", port: 0 }, ["other", "labelled", "own"]],
  ["its namespace alone without one", [listener("HBONE", 15_009, "All")], undefined, ["own"]],
  ["nothing without a selector", [listener("HBONE", 15_008, "Selector")], undefined, []],
];

describe("a waypoint takes objects of", () => {
  for (const [text, listeners, inbound, taken] of attachments)
    it(text, () => {
      const attachment = waypointAttachment({ listeners } as never, inbound);
      const labelsOf = (namespace: string) => (namespace === "labelled" ? { a: "b" } : {});
      const waypoint = { namespace: "own", attachment } as Waypoint;
      const found = ["other", "labelled", "own"].filter((home) => mayAttach(waypoint, home, labelsOf(home)));
      assert.deepEqual(found, taken);
    });
});

describe("a waypoint is for", () => {
  const trafficFor = (labels: Readonly<Record<string, string>>) => {
    const key = { kind: "KubernetesGateway", namespace: "own", name: "w" } as const;
    const status = { addresses: [{ type: "IPAddress", value: "10.0.0.1" }] };
    const gateway = { key, labels, annotations: {}, spec: {}, creationTimeMs: 0, status };
    return waypointOf(gateway as never, undefined, "")?.traffic;
  };
  const values: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
    ["services where it states nothing", {}, "service"],
    ["all traffic", { "istio.io/waypoint-for": "all" }, "all"],
    ["no traffic where it states something else", { "istio.io/waypoint-for": "workloads" }, "none"],
  ];
  for (const [text, labels, traffic] of values) it(text, () => assert.equal(trafficFor(labels), traffic));
});
