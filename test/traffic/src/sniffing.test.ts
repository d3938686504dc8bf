/** Ports of undeclared protocol, and ports that several services share: the bytes sent decide. */
import { type Case, runCases } from "./table.ts";

const services = `
apiVersion: v1
kind: Service
metadata: { name: auto, namespace: shop }
spec: { clusterIP: 10.1.0.1, clusterIPs: [10.1.0.1], ports: [{ port: 7000, protocol: TCP }] }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { clusterIP: 10.1.0.2, clusterIPs: [10.1.0.2], ports: [{ name: http, port: 7000, protocol: TCP }] }
---
apiVersion: v1
kind: Service
metadata: { name: queue, namespace: shop }
spec: { clusterIP: 10.1.0.3, clusterIPs: [10.1.0.3], ports: [{ name: tcp, port: 7000, protocol: TCP }] }
`;

const [auto, web, queue] = ["auto", "web", "queue"].map((name) => `outbound|7000||${name}.shop.svc.cluster.local`) as [
  string,
  string,
  string,
];

const cases: readonly Case[] = [
  {
    name: "of a port without a protocol HTTP is routed and everything else is forwarded",
    config: `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: auto, namespace: shop }
spec: { hosts: [auto], http: [{ match: [{ uri: { prefix: /gone } }], directResponse: { status: 410 } }, { route: [{ destination: { host: auto } }] }] }
`,
    calls: [
      ["http://auto:7000/", auto],
      ["http://auto:7000/gone", "410"],
      ["tcp://auto:7000/", auto],
    ],
  },
  {
    name: "services of different protocols share a port without getting in each other's way",
    calls: [
      ["http://web:7000/", web],
      ["tcp://queue:7000/", queue],
      ["http://queue:7000/", queue],
      ["tcp://auto:7000/", auto],
    ],
  },
  {
    name: "what is no HTTP on the address of an HTTP service goes where it was going",
    calls: [["tcp://web:7000/", "PassthroughCluster"]],
  },
  {
    name: "the same is closed by REGISTRY_ONLY",
    mesh: { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } },
    calls: [
      ["tcp://web:7000/", "BlackHoleCluster"],
      ["http://web:7000/", web],
    ],
  },
];

runCases(services, cases);
