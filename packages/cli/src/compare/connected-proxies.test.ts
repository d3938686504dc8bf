import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseConnections } from "./connected-proxies.ts";

const metadata = { NAMESPACE: "shop", INSTANCE_IPS: "10.0.0.1,fd00::1", LABELS: { app: "web" } };
const connections = JSON.stringify({
  totalClients: 4,
  clients: [
    { connectionId: "web-1.shop-7", metadata, locality: { region: "r1", zone: "z1" } },
    { connectionId: "web-1.shop-9", metadata, locality: { region: "r1", zone: "z1" } },
    { connectionId: "gateway.shop-3", metadata: { ...metadata, INSTANCE_IPS: "10.0.0.2" }, locality: {} },
    { connectionId: "istioctl-8", metadata: null },
  ],
});
const status = JSON.stringify([
  { proxy: "web-1.shop", proxy_type: "sidecar" },
  { proxy: "gateway.shop", proxy_type: "router" },
]);

describe("proxies that are connected to an istiod", () => {
  it("have the node of their metadata and the type of their status, once each", () => {
    assert.deepEqual(parseConnections([status, connections], "a file"), [
      {
        name: "gateway.shop",
        type: "router",
        id: "router~10.0.0.2~gateway.shop~shop.svc.cluster.local",
        metadata: { ...metadata, INSTANCE_IPS: "10.0.0.2" },
        locality: undefined,
      },
      {
        name: "web-1.shop",
        type: "sidecar",
        id: "sidecar~10.0.0.1~web-1.shop~shop.svc.cluster.local",
        metadata,
        locality: { region: "r1", zone: "z1", subZone: "" },
      },
    ]);
  });

  it("are in the order of their names, and of one name as they came", () => {
    const connection = (connectionId: string, ip: string) => ({
      ...{ connectionId, metadata: { ...metadata, INSTANCE_IPS: ip } },
      locality: { region: "r1", zone: "z1", sub_zone: "s1" },
    });
    const clients = [connection("web-1.shop-1", "10.0.0.9"), connection("gateway.shop-2", "10.0.0.2")];
    const more = { clients: [connection("web-1.shop-3", "10.0.0.1")] };
    const found = parseConnections([JSON.stringify({ clients }), JSON.stringify(more), "{}", status], "a file");
    assert.deepEqual(
      found.map(({ name, id }) => [name, id.split("~")[1]]),
      [
        ["gateway.shop", "10.0.0.2"],
        ["web-1.shop", "10.0.0.9"],
        ["web-1.shop", "10.0.0.1"],
      ],
    );
    assert.deepEqual(found[0]?.locality, { region: "r1", zone: "z1", subZone: "s1" });
  });

  it("leave out clients without addresses, and those whose type is unknown", () => {
    const clients = [
      { connectionId: "web-1.shop-1", metadata: { NAMESPACE: "shop" } },
      { connectionId: "other.shop-2", metadata },
      { connectionId: "web-1.shop-3" },
    ];
    const unnamed = JSON.stringify([{ proxy: "other.shop" }, { proxy_type: "sidecar" }]);
    assert.deepEqual(parseConnections([JSON.stringify({ clients }), status, unnamed], "a file"), []);
  });

  const refused = [
    { name: "without their types", texts: [connections], reason: /\/debug\/syncz for their types/ },
    { name: "without their nodes", texts: [status], reason: /\/debug\/adsz for the nodes/ },
    {
      name: "of a page that is no JSON",
      texts: ["404 page not found"],
      reason: /a file has no JSON of istiod's debug pages: 404/,
    },
  ];
  for (const { name, texts, reason } of refused)
    it(`are refused ${name}`, () => assert.throws(() => parseConnections(texts, "a file"), reason));
});
