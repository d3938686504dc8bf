import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toJson } from "@flotilla/proto";
import { ListenerFilterSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type DatagramProxyInputs, datagramProxy } from "./datagram-proxy.ts";

const ext = "type.googleapis.com/envoy.extensions";
const udp = `${ext}.filters.udp.udp_proxy.v3`;

/** An action that leads to a cluster. */
const to = (cluster: string) => ({
  action: { name: "route", typedConfig: { "@type": `${udp}.Route`, cluster } },
});
/** Sessions below this share of a million. */
const below = (numerator: number, cluster: string) => ({
  predicate: {
    singlePredicate: {
      input: {
        name: "source-port",
        typedConfig: { "@type": `${ext}.matching.common_inputs.network.v3.SourcePortInput` },
      },
      customMatch: {
        name: "share",
        typedConfig: {
          "@type": `${ext}.matching.input_matchers.runtime_fraction.v3.RuntimeFraction`,
          runtimeFraction: { defaultValue: { numerator, denominator: "MILLION" } },
        },
      },
    },
  },
  onMatch: to(cluster),
});

describe("the filter of datagrams", () => {
  const cases: readonly (readonly [name: string, clusters: DatagramProxyInputs["clusters"], matcher: object])[] = [
    ["leads all sessions to one cluster", "a", { onNoMatch: to("a") }],
    ["leads all to the only share", [{ name: "a", weight: 7 }], { onNoMatch: to("a") }],
    [
      "divides sessions by weight, the last share taking what is left",
      [
        { name: "a", weight: 1 },
        { name: "b", weight: 2 },
        { name: "c", weight: 3 },
      ],
      { matcherList: { matchers: [below(166_667, "a"), below(500_000, "b")] }, onNoMatch: to("c") },
    ],
    ["leads nowhere without a cluster", [], {}],
  ];
  for (const [name, clusters, matcher] of cases)
    it(name, () => {
      const filter = datagramProxy({ statPrefix: "stats", clusters, accessLog: [] });
      assert.deepEqual(toJson(ListenerFilterSchema, filter), {
        name: "envoy.filters.udp_listener.udp_proxy",
        typedConfig: { "@type": `${udp}.UdpProxyConfig`, statPrefix: "stats", matcher },
      });
    });
});
