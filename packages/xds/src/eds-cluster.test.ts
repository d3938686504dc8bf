import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, encode, type MessageInitShape } from "@flotilla/proto";
import { Cluster_DiscoveryType, ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { isEdsCluster } from "./eds-cluster.ts";

const type = (value: Cluster_DiscoveryType) => ({ clusterDiscoveryType: { case: "type", value } }) as const;
const ads = { configSourceSpecifier: { case: "ads", value: {} } } as const;
/** Fields of every wire type before and after the ones that count. */
const more = {
  name: "outbound|80||reviews.shop.svc.cluster.local",
  connectTimeout: { seconds: 10n, nanos: 0 },
  perConnectionBufferLimitBytes: 32_768,
  metadata: { filterMetadata: { istio: { text: "x".repeat(300), number: 1.5 } } },
} satisfies MessageInitShape<typeof ClusterSchema>;

const cases: readonly { name: string; cluster: MessageInitShape<typeof ClusterSchema>; isEds: boolean }[] = [
  {
    name: "endpoints under its own name",
    cluster: { ...more, ...type(Cluster_DiscoveryType.EDS), edsClusterConfig: { edsConfig: ads } },
    isEds: true,
  },
  {
    name: "endpoints under another name",
    cluster: {
      ...more,
      ...type(Cluster_DiscoveryType.EDS),
      edsClusterConfig: { edsConfig: ads, serviceName: "other" },
    },
    isEds: false,
  },
  { name: "static", cluster: { ...more, ...type(Cluster_DiscoveryType.STATIC) }, isEds: false },
  { name: "original destination", cluster: { ...more, ...type(Cluster_DiscoveryType.ORIGINAL_DST) }, isEds: false },
  { name: "nothing at all", cluster: {}, isEds: false },
];

describe("isEdsCluster", () => {
  for (const { name, cluster, isEds } of cases) {
    it(name, () => assert.equal(isEdsCluster(encode(ClusterSchema, create(ClusterSchema, cluster))), isEds));
  }

  it("garbage is none", () => {
    for (let length = 0; length < 50; length++) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 7919 + length * 104_729) % 256);
      assert.equal(typeof isEdsCluster(bytes), "boolean");
    }
  });
});
