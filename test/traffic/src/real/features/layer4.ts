/** TCP connections by weight, TLS connections by the server name they ask for. */
import assert from "node:assert/strict";
import type { Feature } from "../feature.ts";

export const tcpRoutes: Feature = async (mesh) => {
  const [one, two] = [await mesh.tcpBackend("tcp v1"), await mesh.tcpBackend("tcp v2")];
  mesh.service(
    "stream",
    [
      { port: one, labels: { version: "v1" } },
      { port: two, labels: { version: "v2" } },
    ],
    "TCP",
  );
  mesh.rule("stream", "  subsets: [{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]\n");
  mesh.object("VirtualService", "stream", {
    hosts: ["stream"],
    tcp: [
      {
        route: [
          { destination: { host: "stream", subset: "v1" }, weight: 50 },
          { destination: { host: "stream", subset: "v2" }, weight: 50 },
        ],
      },
    ],
  });
  return [
    {
      name: "TCP connections are split by weight",
      holds: async (client) => {
        const greetings = await Promise.all(Array.from({ length: 40 }, () => client.greeting()));
        assert.deepEqual([...new Set(greetings)].sort(), ["tcp v1", "tcp v2"]);
      },
    },
  ];
};

export const tlsRoutes: Feature = async (mesh) => {
  const [one, two] = [await mesh.tlsBackend("tls v1"), await mesh.tlsBackend("tls v2")];
  mesh.serviceEntry(
    "secure.example.com",
    [
      { port: one, labels: { version: "v1" } },
      { port: two, labels: { version: "v2" } },
    ],
    { name: "secure", protocol: "TLS", location: "MESH_EXTERNAL" },
  );
  mesh.object("ServiceEntry", "other", {
    hosts: ["other.example.com"],
    location: "MESH_EXTERNAL",
    resolution: "STATIC",
    ports: [{ number: mesh.ports.tls, name: "main", protocol: "TLS" }],
    endpoints: [{ address: "127.0.0.1", ports: { main: await mesh.tlsBackend("other") } }],
  });
  mesh.object("DestinationRule", "secure", {
    host: "secure.example.com",
    subsets: ["v1", "v2"].map((version) => ({ name: version, labels: { version } })),
  });
  mesh.object("VirtualService", "secure", {
    hosts: ["secure.example.com"],
    tls: [
      {
        match: [{ port: mesh.ports.tls, sniHosts: ["secure.example.com"] }],
        route: [{ destination: { host: "secure.example.com", subset: "v2" } }],
      },
    ],
  });
  return [
    {
      name: "TLS connections are routed by server name, wherever they are terminated",
      holds: async (client) => {
        for (let i = 0; i < 5; i++) assert.equal(await client.tlsGreeting("secure.example.com"), "tls v2");
        assert.equal(await client.tlsGreeting("other.example.com"), "other");
      },
    },
  ];
};
