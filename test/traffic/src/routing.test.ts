import assert from "node:assert/strict";
import { test } from "node:test";
import { aMesh } from "./mesh.ts";
import { type Case, runCases } from "./table.ts";

const services = `
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Service
metadata: { name: reviews, namespace: shop }
spec: { clusterIP: 10.1.0.1, clusterIPs: [10.1.0.1], ports: [{ name: http, port: 80, protocol: TCP }, { name: tcp, port: 9000, protocol: TCP }] }
---
apiVersion: v1
kind: Service
metadata: { name: ratings, namespace: depot }
spec: { clusterIP: 10.1.0.2, clusterIPs: [10.1.0.2], ports: [{ name: http, port: 80, protocol: TCP }] }
`;

const virtualService = (http: string) => `---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: reviews, namespace: shop }
spec:
  hosts: [reviews]
  http: ${http}
`;

const to = (subset: string) => `{ destination: { host: reviews, subset: ${subset} } }`;
const v1 = "outbound|80|v1|reviews.shop.svc.cluster.local";
const v2 = "outbound|80|v2|reviews.shop.svc.cluster.local";
const plain = "outbound|80||reviews.shop.svc.cluster.local";

const cases: readonly Case[] = [
  {
    name: "a service is called by any of its names, from its own namespace and from others",
    calls: [
      ["http://reviews/", plain],
      ["http://reviews.shop/", plain],
      ["http://reviews.shop.svc.cluster.local/", plain],
      ["http://ratings.depot/", "outbound|80||ratings.depot.svc.cluster.local"],
      ["tcp://reviews:9000/", "outbound|9000||reviews.shop.svc.cluster.local"],
      ["http://elsewhere.example/", "PassthroughCluster"],
    ],
  },
  {
    name: "a header picks the subset",
    config: virtualService(
      `[{ match: [{ headers: { x-user: { exact: alice } } }], route: [${to("v2")}] }, { route: [${to("v1")}] }]`,
    ),
    calls: [
      ["http://reviews/", v1],
      ["http://reviews/", v2, { headers: { "x-user": "alice" } }],
      ["http://reviews/", v1, { headers: { "x-user": "bob" } }],
    ],
  },
  {
    name: "a path is compared without case where that is asked for, an expression is not",
    config: virtualService(
      `[{ match: [{ uri: { prefix: /New }, ignoreUriCase: true }, { uri: { regex: "/Old.*" }, ignoreUriCase: true }], route: [${to("v2")}] }, { route: [${to("v1")}] }]`,
    ),
    calls: [
      ["http://reviews/new/book", v2],
      ["http://reviews/NEW", v2],
      ["http://reviews/Old", v2],
      ["http://reviews/old", v1],
    ],
  },
  {
    name: "an absent header is taken by a match without it",
    config: virtualService(
      `[{ match: [{ withoutHeaders: { x-old: {} } }], route: [${to("v2")}] }, { route: [${to("v1")}] }]`,
    ),
    calls: [
      ["http://reviews/", v2],
      ["http://reviews/", v1, { headers: { "x-old": "1" } }],
    ],
  },
  {
    name: "paths by prefix, exactly, by expression; methods; query parameters",
    config: virtualService(`
    - { match: [{ uri: { exact: /health } }], directResponse: { status: 204 } }
    - { match: [{ uri: { prefix: /api/ }, method: { exact: POST } }], route: [${to("v2")}] }
    - { match: [{ uri: { regex: "/v[0-9]+" } }], route: [${to("v1")}] }
    - { match: [{ queryParams: { debug: { exact: "true" } } }], route: [${to("v2")}] }
    - { redirect: { authority: new.example, uri: / } }`),
    calls: [
      ["http://reviews/health", "204"],
      ["http://reviews/health/more", "redirect http://new.example/"],
      ["http://reviews/api/x", v2, { method: "POST" }],
      ["http://reviews/api/x", "redirect http://new.example/"],
      ["http://reviews/v12", v1],
      ["http://reviews/?debug=true", v2],
    ],
  },
  {
    name: "traffic is split by weight and mirrored",
    config: virtualService(`
    - route: [{ destination: { host: reviews, subset: v1 }, weight: 90 }, { destination: { host: reviews, subset: v2 }, weight: 10 }]
      mirror: { host: ratings.depot.svc.cluster.local }`),
    calls: [["http://reviews/", `90 ${v1}, 10 ${v2} + outbound|80||ratings.depot.svc.cluster.local`]],
  },
  {
    name: "a match by source labels concerns those callers only",
    config: virtualService(
      `[{ match: [{ sourceLabels: { app: web } }], route: [${to("v2")}] }, { route: [${to("v1")}] }]`,
    ),
    from: { namespace: "shop", labels: { app: "web" } },
    calls: [["http://reviews/", v2]],
  },
  {
    name: "a delegate answers for its part of the paths",
    config: `${virtualService("[{ match: [{ uri: { prefix: /d } }], delegate: { name: leaf } }, { route: [{ destination: { host: reviews } }] }]")}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: leaf, namespace: shop }
spec: { http: [{ match: [{ uri: { prefix: /d/1 } }], route: [${to("v1")}] }, { route: [${to("v2")}] }] }
`,
    calls: [
      ["http://reviews/d/1", v1],
      ["http://reviews/d/2", v2],
      ["http://reviews/e", plain],
    ],
  },
  {
    name: "what a Sidecar does not import is unknown, and REGISTRY_ONLY refuses it",
    config: `---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: { name: default, namespace: shop }
spec: { egress: [{ hosts: ["./*"] }], outboundTrafficPolicy: { mode: REGISTRY_ONLY } }
`,
    calls: [
      ["http://reviews/", plain],
      ["http://ratings.depot/", "502"],
    ],
  },
];

runCases(services, cases);

test("an edit takes effect for the next call", () => {
  const mesh = aMesh(services);
  const proxy = mesh.proxy({ namespace: "depot" });
  assert.equal(proxy.calls("http://reviews.shop/"), plain);
  mesh.put(virtualService(`[{ route: [${to("v2")}] }]`));
  assert.equal(proxy.calls("http://reviews.shop/"), v2);
});
