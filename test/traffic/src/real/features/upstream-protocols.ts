/** Back ends that are called by another protocol than the workload speaks. */
import assert from "node:assert/strict";
import type { Feature } from "../feature.ts";

export const tlsOrigination: Feature = async (mesh) => {
  const port = await mesh.httpsBackend("secure");
  mesh.serviceEntry("pay.example.com", [{ port }], { name: "pay", protocol: "HTTP", location: "MESH_EXTERNAL" });
  mesh.object("DestinationRule", "pay", {
    host: "pay.example.com",
    trafficPolicy: { tls: { mode: "SIMPLE", insecureSkipVerify: true, sni: "pay.example.com" } },
  });
  return [
    {
      name: "plain requests leave as TLS where a rule says so",
      holds: async (client) => {
        const { status, reply } = await client.call("pay.example.com");
        assert.deepEqual([status, reply?.version, reply?.headers["protocol"]], [200, "secure", "https"]);
      },
    },
  ];
};

export const http2: Feature = async (mesh) => {
  const [declared, upgraded] = [await mesh.http2Backend("declared"), await mesh.http2Backend("upgraded")];
  mesh.service("modern", [{ port: declared }], "HTTP2");
  mesh.service("upgraded", [{ port: upgraded }]);
  mesh.rule("upgraded", "  trafficPolicy: {connectionPool: {http: {h2UpgradePolicy: UPGRADE}}}\n");
  return [
    {
      name: "HTTP/2 is spoken to ports that say so and where a rule upgrades",
      holds: async (client) => {
        for (const service of ["modern", "upgraded"]) {
          const { status, reply } = await client.call(service);
          assert.deepEqual([status, reply?.headers["protocol"]], [200, "http2"], service);
        }
      },
    },
  ];
};
