/** The services that a proxy may see: Sidecar resources, exportTo, and the treatment of everything else. */
import { type Case, runCases } from "./table.ts";

const service = (name: string, namespace: string, vip: string, port = 80) => `
apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: ${namespace} }
spec: { clusterIP: ${vip}, clusterIPs: [${vip}], ports: [{ name: http, port: ${port}, protocol: TCP }] }
`;
const shared = [
  service("reviews", "shop", "10.1.0.1"),
  service("ratings", "depot", "10.1.0.2"),
  service("audit", "ops", "10.1.0.3", 8080),
].join("---");

const sidecar = (name: string, spec: string, namespace = "shop") => `
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: { name: ${name}, namespace: ${namespace} }
spec: ${spec}
---`;
const to = (host: string, port = 80) => `outbound|${port}||${host}.svc.cluster.local`;
const [reviews, ratings, audit] = [to("reviews.shop"), to("ratings.depot"), to("audit.ops", 8080)];

const cases: readonly Case[] = [
  {
    name: "without a Sidecar everything is seen, and what is unknown passes",
    calls: [
      ["http://reviews/", reviews],
      ["http://ratings.depot/", ratings],
      ["http://audit.ops:8080/", audit],
      ["http://elsewhere.example/", "PassthroughCluster"],
      ["tcp://192.0.2.9:1234/", "PassthroughCluster"],
    ],
  },
  {
    name: "REGISTRY_ONLY of the mesh refuses what is unknown",
    mesh: { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } },
    calls: [
      ["http://reviews/", reviews],
      ["http://elsewhere.example/", "502"],
      ["tcp://192.0.2.9:1234/", "BlackHoleCluster"],
    ],
  },
  {
    name: "the Sidecar's policy counts more than the mesh's",
    mesh: { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } },
    config: sidecar("default", "{ outboundTrafficPolicy: { mode: ALLOW_ANY } }"),
    calls: [["http://elsewhere.example/", "PassthroughCluster"]],
  },
  {
    name: "egress hosts by namespace and by name",
    config: sidecar("default", '{ egress: [{ hosts: ["./*", "ops/audit.ops.svc.cluster.local"] }] }'),
    calls: [
      ["http://reviews/", reviews],
      ["http://audit.ops:8080/", audit],
      ["http://ratings.depot/", "PassthroughCluster"],
    ],
  },
  {
    name: "a Sidecar that selects the workload counts more than its namespace's, that more than the root's",
    from: { namespace: "shop", labels: { app: "web" } },
    config: [
      sidecar("default", '{ egress: [{ hosts: ["./*"] }] }', "istio-system"),
      sidecar("default", '{ egress: [{ hosts: ["depot/*"] }] }'),
      sidecar("web", '{ workloadSelector: { labels: { app: web } }, egress: [{ hosts: ["ops/*"] }] }'),
    ].join("\n"),
    calls: [
      ["http://audit.ops:8080/", audit],
      ["http://ratings.depot/", "PassthroughCluster"],
    ],
  },
  {
    name: "the namespace's Sidecar holds for its other workloads",
    from: { namespace: "shop", labels: { app: "other" } },
    config: [
      sidecar("default", '{ egress: [{ hosts: ["depot/*"] }] }'),
      sidecar("web", '{ workloadSelector: { labels: { app: web } }, egress: [{ hosts: ["ops/*"] }] }'),
    ].join("\n"),
    calls: [
      ["http://ratings.depot/", ratings],
      ["http://audit.ops:8080/", "PassthroughCluster"],
    ],
  },
  {
    name: "the root namespace's Sidecar holds where there is no other",
    config: sidecar("default", '{ egress: [{ hosts: ["./*"] }] }', "istio-system"),
    calls: [
      ["http://reviews/", reviews],
      ["http://ratings.depot/", "PassthroughCluster"],
    ],
  },
  {
    name: "a Sidecar that selects no workload changes nothing",
    config: sidecar("unused", '{ workloadSelector: { labels: { app: unused } }, egress: [{ hosts: ["~/*"] }] }'),
    calls: [["http://ratings.depot/", ratings]],
  },
  {
    name: "services are exported to the namespaces they name",
    config: `
apiVersion: v1
kind: Service
metadata: { name: private, namespace: depot, annotations: { networking.istio.io/exportTo: "." } }
spec: { clusterIP: 10.1.0.8, clusterIPs: [10.1.0.8], ports: [{ name: http, port: 80, protocol: TCP }] }
---
apiVersion: v1
kind: Service
metadata: { name: named, namespace: depot, annotations: { networking.istio.io/exportTo: "shop" } }
spec: { clusterIP: 10.1.0.9, clusterIPs: [10.1.0.9], ports: [{ name: http, port: 80, protocol: TCP }] }
`,
    calls: [
      ["http://private.depot/", "PassthroughCluster"],
      ["http://named.depot/", to("named.depot")],
    ],
  },
  {
    name: "a VirtualService that is not exported routes its own namespace only",
    config: `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: ratings, namespace: depot }
spec: { hosts: [ratings], exportTo: ["."], http: [{ directResponse: { status: 418 } }] }
`,
    calls: [["http://ratings.depot/", ratings]],
  },
];

runCases(shared, cases);
