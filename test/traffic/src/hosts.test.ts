/** Hosts that VirtualServices and ServiceEntries speak of: wildcards, external names, delegates, several for one host. */
import { type Case, runCases } from "./table.ts";

const shared = `
apiVersion: v1
kind: Service
metadata: { name: reviews, namespace: shop }
spec: { clusterIP: 10.1.0.1, clusterIPs: [10.1.0.1], ports: [{ name: http, port: 80, protocol: TCP }] }
---
apiVersion: v1
kind: Service
metadata: { name: ratings, namespace: shop }
spec: { clusterIP: 10.1.0.2, clusterIPs: [10.1.0.2], ports: [{ name: http, port: 80, protocol: TCP }] }
`;
const [reviews, ratings] = ["reviews", "ratings"].map((name) => `outbound|80||${name}.shop.svc.cluster.local`) as [
  string,
  string,
];

const virtualService = (name: string, spec: string, namespace = "shop") => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: ${name}, namespace: ${namespace} }
spec: ${spec}
---`;
const serviceEntry = (name: string, spec: string) => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: { name: ${name}, namespace: shop }
spec: ${spec}
---`;
const answer = (status: number) => `http: [{ directResponse: { status: ${status} } }]`;

const cases: readonly Case[] = [
  {
    name: "a wildcard covers the services that no VirtualService names",
    config: [
      virtualService("all", `{ hosts: ["*.shop.svc.cluster.local"], ${answer(299)} }`),
      virtualService("reviews", `{ hosts: [reviews], ${answer(201)} }`),
    ].join("\n"),
    calls: [
      ["http://reviews/", "201"],
      ["http://ratings/", "299"],
    ],
  },
  {
    name: "of two VirtualServices for one host the first by name holds",
    config: [
      virtualService("b", `{ hosts: [reviews], ${answer(202)} }`),
      virtualService("a", `{ hosts: [reviews], ${answer(201)} }`),
    ].join("\n"),
    calls: [["http://reviews/", "201"]],
  },
  {
    name: "a VirtualService may speak of a host that no service stands for",
    config: virtualService(
      "made-up",
      "{ hosts: [made-up.example], http: [{ route: [{ destination: { host: ratings } }] }] }",
    ),
    calls: [["http://made-up.example/", ratings]],
  },
  {
    name: "routes for gateways alone do not concern sidecars",
    config: virtualService("outside", `{ hosts: [reviews], gateways: [istio-system/ingress], ${answer(201)} }`),
    calls: [["http://reviews/", reviews]],
  },
  {
    name: "delegates answer for their part, by their own matches",
    config: [
      virtualService(
        "root",
        "{ hosts: [reviews], http: [{ match: [{ uri: { prefix: /a } }], delegate: { name: a, namespace: depot } }, { match: [{ uri: { prefix: /b } }], delegate: { name: missing } }, { route: [{ destination: { host: reviews } }] }] }",
      ),
      virtualService(
        "a",
        `{ http: [{ match: [{ uri: { prefix: /a/deep } }], directResponse: { status: 201 } }, { directResponse: { status: 202 } }] }`,
        "depot",
      ),
    ].join("\n"),
    calls: [
      ["http://reviews/a/deep", "201"],
      ["http://reviews/a", "202"],
      ["http://reviews/b", reviews],
      ["http://reviews/", reviews],
    ],
  },
  {
    name: "an external service is reached by its name, its endpoints are those of the entry",
    config: serviceEntry(
      "quotes",
      "{ hosts: [quotes.example.com], ports: [{ number: 80, name: http, protocol: HTTP, targetPort: 8080 }], resolution: STATIC, endpoints: [{ address: 192.0.2.10 }, { address: 192.0.2.11, ports: { http: 9090 } }] }",
    ),
    calls: [["http://quotes.example.com/", "outbound|80||quotes.example.com"]],
    reaches: [["http://quotes.example.com/", "192.0.2.10:8080 192.0.2.11:9090"]],
  },
  {
    name: "hosts below a wildcard go where they were going",
    config: serviceEntry(
      "wild",
      '{ hosts: ["*.example.com"], ports: [{ number: 80, name: http, protocol: HTTP }], resolution: NONE }',
    ),
    calls: [
      ["http://any.example.com/", "outbound|80||*.example.com"],
      ["http://example.org/", "PassthroughCluster"],
    ],
    reaches: [["http://any.example.com/", "where it was going"]],
  },
  {
    name: "a service of workloads has their addresses",
    config: [
      serviceEntry(
        "vms",
        "{ hosts: [vms.example.com], location: MESH_INTERNAL, ports: [{ number: 80, name: http, protocol: HTTP, targetPort: 8080 }], resolution: STATIC, workloadSelector: { labels: { app: vm } } }",
      ),
      `
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: { name: vm-1, namespace: shop }
spec: { address: 10.9.0.1, labels: { app: vm }, serviceAccount: vm }
---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: { name: other, namespace: shop }
spec: { address: 10.9.0.2, labels: { app: other } }
`,
    ].join("\n"),
    reaches: [["http://vms.example.com/", "10.9.0.1:8080*"]],
  },
  {
    name: "the Host header decides, not the address",
    calls: [["http://ratings/", reviews, { headers: { host: "reviews" } }]],
  },
];

runCases(shared, cases);
