/** How calls are made: subsets and their endpoints, localities, timeouts, retries, balancing, faults. */
import { type Case, runCases } from "./table.ts";

const shared = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: { name: reviews, namespace: shop }
spec:
  hosts: [reviews.shop.svc.cluster.local]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{ number: 80, name: http, protocol: HTTP }]
  endpoints:
    - { address: 10.0.1.1, labels: { version: v1 }, locality: r1/z1 }
    - { address: 10.0.1.2, labels: { version: v2 }, locality: r1/z2 }
    - { address: 10.0.1.3, labels: { version: v2 }, locality: r2/z1 }
---`;
const rule = (spec: string) => `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: reviews, namespace: shop }
spec: { host: reviews, ${spec} }
---`;
const routes = (http: string) => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: reviews, namespace: shop }
spec: { hosts: [reviews], http: ${http} }
---`;
const reviews = "http://reviews/";
const retryOn = "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes";
const usual = `2 retries on ${retryOn}`;
const inZone = { namespace: "shop", locality: { region: "r1", zone: "z1" } };
const ejection = "outlierDetection: { consecutive5xxErrors: 3 }";

const cases: readonly Case[] = [
  {
    name: "a subset has the endpoints with its labels",
    config: [
      rule("subsets: [{ name: v1, labels: { version: v1 } }, { name: v2, labels: { version: v2 } }]"),
      routes(
        "[{ match: [{ headers: { x-v: { exact: '1' } } }], route: [{ destination: { host: reviews, subset: v1 } }] }, { route: [{ destination: { host: reviews, subset: v2 } }] }]",
      ),
    ].join("\n"),
    reaches: [
      [reviews, "10.0.1.2:80 10.0.1.3:80"],
      [reviews, "10.0.1.1:80", { headers: { "x-v": "1" } }],
    ],
  },
  {
    name: "without anything said calls are retried twice, to the endpoint with the fewest requests",
    reaches: [[reviews, "10.0.1.1:80 10.0.1.2:80 10.0.1.3:80"]],
    policy: [[reviews, `${usual}, LEAST_REQUEST, mutual TLS where it is taken`]],
  },
  {
    name: "localities fail over once endpoints can be ejected: own zone, own region, everywhere else",
    from: inZone,
    config: rule(`trafficPolicy: { ${ejection} }`),
    reaches: [[reviews, "10.0.1.1:80 | 10.0.1.2:80 | 10.0.1.3:80"]],
    policy: [[reviews, `${usual}, LEAST_REQUEST, mutual TLS where it is taken, ejects after 3`]],
  },
  {
    name: "localities do not matter without ejection",
    from: inZone,
    reaches: [[reviews, "10.0.1.1:80 10.0.1.2:80 10.0.1.3:80"]],
  },
  {
    name: "timeouts, retries and faults of a route",
    config: routes(
      "[{ timeout: 1.5s, retries: { attempts: 3, retryOn: 5xx }, fault: { abort: { httpStatus: 418, percentage: { value: 10 } }, delay: { fixedDelay: 2s, percentage: { value: 10 } } }, route: [{ destination: { host: reviews } }] }]",
    ),
    policy: [
      [reviews, "timeout 1.500s, 3 retries on 5xx, abort 418, delay 2s, LEAST_REQUEST, mutual TLS where it is taken"],
    ],
  },
  {
    name: "no attempts are no retries",
    config: routes("[{ retries: { attempts: 0 }, route: [{ destination: { host: reviews } }] }]"),
    policy: [[reviews, "LEAST_REQUEST, mutual TLS where it is taken"]],
  },
  {
    name: "balancing and pools of a rule, narrower ones of a subset",
    config: [
      rule(
        "trafficPolicy: { loadBalancer: { simple: ROUND_ROBIN }, connectionPool: { tcp: { maxConnections: 10 } } }, subsets: [{ name: v1, labels: { version: v1 }, trafficPolicy: { loadBalancer: { simple: RANDOM } } }]",
      ),
      routes(
        "[{ match: [{ uri: { prefix: /v1 } }], route: [{ destination: { host: reviews, subset: v1 } }] }, { route: [{ destination: { host: reviews } }] }]",
      ),
    ].join("\n"),
    policy: [
      [reviews, `${usual}, ROUND_ROBIN, mutual TLS where it is taken, 10 connections`],
      ["http://reviews/v1", `${usual}, RANDOM, mutual TLS where it is taken, 10 connections`],
    ],
  },
  {
    name: "a hash makes a ring, and its retries stay with it",
    config: rule("trafficPolicy: { loadBalancer: { consistentHash: { httpHeaderName: x-user } } }"),
    policy: [[reviews, `${usual}, RING_HASH, mutual TLS where it is taken`]],
  },
];

runCases(shared, cases);
