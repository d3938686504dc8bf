/** The state of a proxy as replicas exchange it, as `/debug/syncz` prints it and as `istioctl proxy-status` reads it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decode, typeUrl } from "@flotilla/proto";
import { ClientConfigSchema, ConfigStatus } from "@flotilla/proto/envoy/service/status/v3/csds_pb";
import type { TypeRecord } from "../serve/stream-record.ts";
import { aSidecar } from "../testing/mesh.ts";
import { aReceipt, aStream, aTypeRecord } from "../testing/stream.ts";
import { clientConfigResource } from "./client-config.ts";
import { type ProxyStatus, proxyConnection, proxyStatus, typeStatuses } from "./proxy-status.ts";
import { syncz } from "./syncz.ts";

const cause = { publisher: "config-controller", epoch: "0123456789", revision: 7, eventTimeMs: 0 };
const applied = { position: 9, changes: 1, objects: ["VirtualService/shop/a"], causes: [cause] };
const rejection = { nonce: "n2", message: "no such cluster" } as TypeRecord["rejection"] & object;

const cases: readonly {
  readonly name: string;
  readonly record: TypeRecord;
  readonly want: object;
  readonly status: ConfigStatus;
}[] = [
  { name: "nothing was sent", record: aTypeRecord(), want: {}, status: ConfigStatus.NOT_SENT },
  {
    name: "sent and not yet acknowledged",
    record: aTypeRecord({ sent: aReceipt("n1", 5, { applied }) }),
    want: {
      sent: "n1",
      sentAtMs: 2_000,
      version: "v5",
      sentPosition: 5,
      cause: "VirtualService/shop/a, by config-controller 01234567/7",
    },
    status: ConfigStatus.STALE,
  },
  {
    name: "acknowledged",
    record: aTypeRecord({ sent: aReceipt("n1", 5), acknowledged: aReceipt("n1", 5) }),
    want: { sent: "n1", sentAtMs: 2_000, version: "v5", sentPosition: 5, acked: "n1", ackedPosition: 5 },
    status: ConfigStatus.SYNCED,
  },
  {
    name: "refused: the last acknowledged stands beside it",
    record: aTypeRecord({ sent: aReceipt("n2", 6), acknowledged: aReceipt("n1", 5), rejection }),
    want: {
      ...{ sent: "n2", sentAtMs: 2_000, version: "v6", sentPosition: 6, acked: "n1", ackedPosition: 5 },
      error: "no such cluster",
    },
    status: ConfigStatus.ERROR,
  },
  {
    name: "had everything when it connected: the version stands for the nonces",
    record: aTypeRecord({ acknowledged: aReceipt("", 4) }),
    want: { sent: "v4", acked: "v4", version: "v4", sentAtMs: 2_000, sentPosition: 4, ackedPosition: 4 },
    status: ConfigStatus.SYNCED,
  },
  {
    name: "connected with something old that is to be replaced: not synced",
    record: aTypeRecord({ acknowledged: aReceipt("", 4), isDue: true }),
    want: { acked: "", ackedPosition: 4 },
    status: ConfigStatus.NOT_SENT,
  },
];

const istioctl = (status: ProxyStatus) => decode(ClientConfigSchema, clientConfigResource(status).bytes);

describe("the state of a type", () => {
  for (const { name, record, want, status } of cases)
    it(name, () => {
      const found = proxyStatus(aStream("1", { [typeUrl.cluster]: record }));
      assert.deepEqual(found.types[typeUrl.cluster], want);
      assert.equal(istioctl(found).genericXdsConfigs[0]?.configStatus, status);
    });

  it("is the identical object for streams to which the same happened", () => {
    const record = aTypeRecord({ sent: aReceipt("n1", 5) });
    const [one, two] = [aStream("1", { [typeUrl.cluster]: record }), aStream("2", { [typeUrl.cluster]: record })];
    assert.equal(typeStatuses(one)[typeUrl.cluster], typeStatuses(two)[typeUrl.cluster]);
    assert.equal(typeStatuses(one), typeStatuses(one));
    assert.equal(proxyConnection(one), proxyConnection(one));
    assert.notEqual(proxyConnection(one), proxyConnection(two));
  });
});

describe("a proxy", () => {
  const types = {
    [typeUrl.cluster]: aTypeRecord({ sent: aReceipt("c2", 6), acknowledged: aReceipt("c1", 5), rejection }),
    [typeUrl.nameTable]: aTypeRecord({ sent: aReceipt("t1", 5), acknowledged: aReceipt("t1", 5) }),
  };
  const withVersion = proxyStatus(aStream("1", types, { proxy: aSidecar("shop", { ISTIO_VERSION: "1.27.0" }) }));
  const bare = proxyStatus(aStream("2", {}, { proxy: aSidecar("bank", { CLUSTER_ID: "" }) }));

  it("in syncz: fields of their own for the types that always had them, all types among the resources", () => {
    const [{ resources = {}, ...first } = {}, second] = syncz([withVersion, bare]);
    assert.deepEqual(first, {
      cluster_id: "Kubernetes",
      proxy: "app.shop",
      proxy_type: "sidecar",
      istio_version: "1.27.0",
      cluster_sent: "c2",
      cluster_acked: "c1",
    });
    assert.deepEqual(Object.keys(resources), [typeUrl.cluster, typeUrl.nameTable]);
    const { sentTime, lastError, sent } = resources[typeUrl.cluster] ?? {};
    assert.deepEqual([sentTime, lastError, sent], ["1970-01-01T00:00:02.000Z", "no such cluster", "c2"]);
    assert.deepEqual(second, { proxy: "app.bank", proxy_type: "sidecar", resources: {} });
  });

  it("for istioctl: types by name, the words of a refusal with their time, known metadata only", () => {
    const config = istioctl(withVersion);
    assert.equal(config.node?.id, "app.shop");
    assert.deepEqual(config.node?.metadata, { CLUSTER_ID: "Kubernetes", NAMESPACE: "shop", ISTIO_VERSION: "1.27.0" });
    assert.deepEqual(
      config.genericXdsConfigs.map((one) => one.typeUrl),
      [typeUrl.cluster, typeUrl.nameTable],
    );
    const [refused, synced] = config.genericXdsConfigs;
    assert.deepEqual([refused?.errorState?.details, refused?.lastUpdated?.seconds], ["no such cluster", 2n]);
    assert.equal(synced?.errorState, undefined);
    assert.deepEqual(istioctl(bare).node?.metadata, { NAMESPACE: "bank" });
  });
});
