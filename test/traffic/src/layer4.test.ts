/** Connections that are no HTTP: by address, by port, by the server name they ask for. */
import { type Case, runCases } from "./table.ts";

const shared = `
apiVersion: v1
kind: Service
metadata: { name: db, namespace: shop }
spec: { clusterIP: 10.1.0.1, clusterIPs: [10.1.0.1], ports: [{ name: tcp, port: 5432, protocol: TCP }] }
---
apiVersion: v1
kind: Service
metadata: { name: cache, namespace: shop }
spec: { clusterIP: 10.1.0.2, clusterIPs: [10.1.0.2], ports: [{ name: tcp, port: 5432, protocol: TCP }] }
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: { name: outside, namespace: shop }
spec:
  hosts: [api.example.com, files.example.com]
  location: MESH_EXTERNAL
  resolution: DNS
  ports: [{ number: 443, name: tls, protocol: TLS }]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: db, namespace: shop }
spec: { host: db, subsets: [{ name: v1, labels: { version: v1 } }, { name: v2, labels: { version: v2 } }] }
`;
const db = (subset = "") => `outbound|5432|${subset}|db.shop.svc.cluster.local`;
const cache = "outbound|5432||cache.shop.svc.cluster.local";

const virtualService = (spec: string) => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: routes, namespace: shop }
spec: ${spec}
`;

const cases: readonly Case[] = [
  {
    name: "services on one port are distinguished by address",
    calls: [
      ["tcp://db:5432/", db()],
      ["tcp://cache:5432/", cache],
      ["tcp://192.0.2.7:5432/", "PassthroughCluster"],
    ],
  },
  {
    name: "connections are split by weight",
    config: virtualService(
      "{ hosts: [db], tcp: [{ route: [{ destination: { host: db, subset: v1 }, weight: 80 }, { destination: { host: db, subset: v2 }, weight: 20 }] }] }",
    ),
    calls: [["tcp://db:5432/", `80 ${db("v1")}, 20 ${db("v2")}`]],
  },
  {
    name: "a TCP match by port and by source labels",
    from: { namespace: "shop", labels: { app: "web" } },
    config: virtualService(`
  hosts: [db, cache]
  tcp:
    - match: [{ port: 5432, sourceLabels: { app: batch } }]
      route: [{ destination: { host: db, subset: v2 } }]
    - match: [{ port: 5432, sourceLabels: { app: web } }]
      route: [{ destination: { host: db, subset: v1 } }]`),
    calls: [
      ["tcp://db:5432/", db("v1")],
      ["tcp://cache:5432/", db("v1")],
    ],
  },
  {
    name: "TLS is forwarded by server name, and unknown names pass",
    calls: [
      ["https://api.example.com/", "outbound|443||api.example.com"],
      ["https://files.example.com/", "outbound|443||files.example.com"],
      ["https://unknown.example.com/", "PassthroughCluster"],
    ],
  },
  {
    name: "a TLS route takes the server names it lists, and those alone",
    config: virtualService(`
  hosts: [api.example.com]
  tls:
    - match: [{ port: 443, sniHosts: [api.example.com] }]
      route: [{ destination: { host: files.example.com, port: { number: 443 } } }]`),
    calls: [
      ["https://api.example.com/", "outbound|443||files.example.com"],
      ["https://files.example.com/", "outbound|443||files.example.com"],
      ["https://more.example.com/", "PassthroughCluster"],
    ],
  },
  {
    name: "a TLS route takes all server names below a wildcard",
    config: virtualService(`
  hosts: ["*.example.com"]
  tls:
    - match: [{ port: 443, sniHosts: ["*.example.com"] }]
      route: [{ destination: { host: files.example.com, port: { number: 443 } } }]`),
    calls: [
      ["https://api.example.com/", "outbound|443||files.example.com"],
      ["https://more.example.com/", "outbound|443||files.example.com"],
    ],
  },
];

runCases(shared, cases);
