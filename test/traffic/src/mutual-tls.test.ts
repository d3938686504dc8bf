/** Use of mutual TLS between workloads: PeerAuthentication for the receivers, DestinationRule for the callers. */
import { type Case, runCases } from "./table.ts";

const workload = (name: string, address: string, more = "") => `
---
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: shop
  labels: { app: ${name}${more} }
spec: { serviceAccountName: ${name}, containers: [{ name: app, image: app }] }
status: { phase: Running, podIP: ${address}, podIPs: [{ ip: ${address} }], conditions: [{ type: Ready, status: "True" }] }
`;
const service = (name: string, vip: string, address: string) => `
---
apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: shop }
spec:
  clusterIP: ${vip}
  clusterIPs: [${vip}]
  selector: { app: ${name} }
  ports: [{ name: http, port: 80, targetPort: 8080, protocol: TCP }, { name: tcp, port: 90, targetPort: 9090, protocol: TCP }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: ${name}, namespace: shop, labels: { kubernetes.io/service-name: ${name} } }
addressType: IPv4
ports: [{ name: http, port: 8080, protocol: TCP }, { name: tcp, port: 9090, protocol: TCP }]
endpoints: [{ addresses: [${address}], conditions: { ready: true }, targetRef: { kind: Pod, name: ${name}, namespace: shop } }]
`;
const mesh = [
  "apiVersion: v1\nkind: Namespace\nmetadata: { name: shop }",
  service("app", "10.1.0.1", "10.0.0.1"),
  service("guarded", "10.1.0.2", "10.0.0.2"),
  service("bare", "10.1.0.3", "10.0.0.3"),
  workload("app", "10.0.0.1", ", security.istio.io/tlsMode: istio"),
  workload("guarded", "10.0.0.2", ", security.istio.io/tlsMode: istio"),
  workload("bare", "10.0.0.3"),
].join("\n");

const peers = (spec: string, name = "default") => `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: { name: ${name}, namespace: shop }
spec: ${spec}
`;
const rule = (host: string, tls: string) => `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: ${host}, namespace: shop }
spec: { host: ${host}, trafficPolicy: { tls: ${tls} } }
`;
const usual = "2 retries on connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes, LEAST_REQUEST";
const from = { namespace: "shop", labels: { app: "app" } };
const inbound = "inbound|8080||";

const cases: readonly Case[] = [
  {
    name: "callers use mutual TLS where the workload has a proxy, and plain text where it has none",
    from,
    reaches: [
      ["http://guarded/", "10.0.0.2:8080*"],
      ["http://bare/", "10.0.0.3:8080"],
    ],
    policy: [["http://guarded/", `${usual}, mutual TLS where it is taken`]],
  },
  {
    name: "PERMISSIVE takes plain text and mutual TLS",
    from,
    receives: [
      [8080, inbound],
      [8080, inbound, { tls: "mtls" }],
      [9090, "inbound|9090||", { protocol: "tcp" }],
      [9090, "inbound|9090||", { protocol: "tcp", tls: "mtls" }],
    ],
  },
  {
    name: "STRICT takes mutual TLS only",
    from,
    config: peers("{ mtls: { mode: STRICT } }"),
    receives: [
      [8080, "no filter chains matched"],
      [8080, inbound, { tls: "mtls" }],
      [9090, "no filter chains matched", { protocol: "tcp" }],
      [9090, "inbound|9090||", { protocol: "tcp", tls: "mtls" }],
    ],
  },
  {
    name: "DISABLE takes what comes, and callers send plain text",
    from,
    config: peers("{ mtls: { mode: DISABLE } }"),
    receives: [[8080, inbound]],
    reaches: [["http://guarded/", "10.0.0.2:8080"]],
  },
  {
    name: "a port of a workload has a mode of its own",
    from,
    config: peers(
      "{ selector: { matchLabels: { app: app } }, mtls: { mode: STRICT }, portLevelMtls: { 9090: { mode: DISABLE } } }",
      "app",
    ),
    receives: [
      [8080, "no filter chains matched"],
      [9090, "inbound|9090||", { protocol: "tcp" }],
    ],
  },
  {
    name: "a DestinationRule has the last word of the caller",
    from,
    config: [rule("guarded", "{ mode: DISABLE }"), rule("bare", "{ mode: ISTIO_MUTUAL }")].join("---"),
    policy: [
      ["http://guarded/", `${usual}, plain text`],
      ["http://bare/", `${usual}, mutual TLS`],
    ],
  },
  {
    name: "policies stand before the workload",
    from,
    config: `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: web-only, namespace: shop }
spec: { selector: { matchLabels: { app: app } }, rules: [{ from: [{ source: { principals: [cluster.local/ns/shop/sa/web] } }] }] }
`,
    authorizes: [[8080, "ALLOW ns[shop]-policy[web-only]-rule[0]"]],
  },
];

runCases(mesh, cases);
