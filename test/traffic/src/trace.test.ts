/** The ways of calls hop by hop, on generated configuration: names, conditions, shares, who refuses, and what is left open. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { arrivalAt, type Call, type Hop, type Trace, traceCall, trustDomainOf } from "@flotilla/traffic";
import { aMesh, type TestMesh } from "./mesh.ts";

const services = ["web", "api"]
  .map(
    (name, index) => `
apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: shop }
spec: { clusterIP: 10.1.0.${index + 1}, selector: { app: ${name} }, ports: [{ name: http, port: 80, targetPort: 8080 }, { name: tcp, port: 9000, targetPort: 9001 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: ${name}, namespace: shop, labels: { kubernetes.io/service-name: ${name} } }
addressType: IPv4
ports: [{ name: http, port: 8080 }, { name: tcp, port: 9001 }]
endpoints: [{ addresses: [10.0.0.${index + 1}], conditions: { ready: true }, targetRef: { kind: Pod, name: ${name}-1, namespace: shop } }]
---
apiVersion: v1
kind: Pod
metadata: { name: ${name}-1, namespace: shop, labels: { app: ${name}, version: v1, security.istio.io/tlsMode: istio } }
spec: { serviceAccountName: ${name}, nodeName: n }
status: { podIP: 10.0.0.${index + 1}, phase: Running }
---`,
  )
  .join("");

const routes = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: api, namespace: shop }
spec:
  hosts: [api]
  http:
  - name: canary
    match: [{ headers: { x-canary: { exact: "yes" } }, uri: { prefix: /v1 } }]
    timeout: 4s
    retries: { attempts: 3, perTryTimeout: 1s, retryOn: 5xx }
    rewrite: { uri: /v2, authority: inner }
    headers: { request: { set: { x-from: mesh } } }
    fault: { delay: { fixedDelay: 1s, percentage: { value: 10 } } }
    route:
    - { destination: { host: api, subset: v1 }, weight: 90 }
    - { destination: { host: api, subset: v2 }, weight: 10 }
  - name: broken
    match: [{ uri: { exact: /broken } }]
    fault: { abort: { httpStatus: 418, percentage: { value: 100 } } }
    route: [{ destination: { host: api } }]
  - match: [{ uri: { exact: /moved } }]
    redirect: { uri: /here }
  - match: [{ uri: { prefix: /v1 } }]
    route: [{ destination: { host: api } }]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: api, namespace: shop }
spec:
  host: api
  trafficPolicy: { connectionPool: { http: { http1MaxPendingRequests: 7 } }, outlierDetection: { consecutive5xxErrors: 3 } }
  subsets: [{ name: v1, labels: { version: v1 } }, { name: v2, labels: { version: v2 } }]
---
`;

const policy = (name: string, spec: string) => `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: ${name}, namespace: shop }
spec: { selector: { matchLabels: { app: api } }, ${spec} }
---`;
const strict = `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: { name: default, namespace: shop }
spec: { mtls: { mode: STRICT } }
---`;
const tokens = `
apiVersion: security.istio.io/v1
kind: RequestAuthentication
metadata: { name: tokens, namespace: shop }
spec: { jwtRules: [{ issuer: me, jwks: '{"keys":[]}' }] }
---`;

const configurationOf = (mesh: TestMesh, name: "web" | "api") =>
  mesh.configuration({ namespace: "shop", labels: { app: name }, address: name === "web" ? "10.0.0.1" : "10.0.0.2" });

/** From web to api: the trace at web, and that at the first endpoint of the first destination. */
function way(
  config: string,
  call: Partial<Call>,
  meshConfig: Parameters<typeof aMesh>[1] = {},
): { readonly sent: Trace; readonly received: Trace | undefined } {
  const mesh = aMesh(`${services}${config}`, meshConfig);
  const caller = configurationOf(mesh, "web");
  const asked: Call = {
    ...{ Address: "10.1.0.2", Port: 80, HostHeader: "api", Path: "/v1/a", Protocol: "http", CallMode: "outbound" },
    ...call,
  };
  const sent = traceCall(caller, { call: asked });
  const [destination] = sent.destinations;
  const [endpoint] = destination?.endpoints ?? [];
  if (destination === undefined || endpoint === undefined) return { sent, received: undefined };
  const identity = `spiffe://${trustDomainOf(caller.listeners)}/ns/shop/sa/web`;
  const arrival = arrivalAt(endpoint, destination, { call: asked, identity, address: "10.0.0.1", mode: "inbound" });
  return { sent, received: arrival && traceCall(configurationOf(mesh, "api"), arrival) };
}

const hop = (trace: Trace | undefined, kind: Hop["kind"]): Hop | undefined =>
  [...(trace?.hops ?? []), ...(trace?.destinations[0]?.hops ?? [])].find((one) => one.kind === kind);

describe("a way", () => {
  it("names each resource, the object of the route, matched conditions and shares", () => {
    const { sent } = way(routes, { Headers: { "x-canary": "yes" } });
    assert.deepEqual(
      sent.hops.map(({ kind, name, verdict }) => `${kind} ${name} ${verdict}`),
      [
        "listener 0.0.0.0_80 passes",
        "filter chain default passes",
        "route configuration 80 passes",
        "virtual host api.shop.svc.cluster.local:80 passes",
        "route canary passes",
      ],
    );
    assert.deepEqual(hop(sent, "virtual host")?.facts, [
      "Host api is one of api.shop.svc.cluster.local, api, api.shop.svc, api.shop, 10.1.0.2.",
    ]);
    const route = hop(sent, "route");
    assert.deepEqual(route?.objects, ["VirtualService/shop/api"]);
    assert.deepEqual(route?.facts, [
      "Matched: path begins with /v1.",
      "Matched: header x-canary is yes.",
      "Timeout 4s.",
      "3 retries on 5xx, 1s each.",
      "The matched part of the path becomes /v2.",
      "The host becomes inner.",
      "A fault delays 10 % of the requests by 1s.",
      "Sets the request headers x-from.",
    ]);
    assert.deepEqual(
      sent.destinations.map(({ share, cluster, end }) => [share, cluster, end.kind]),
      [
        [90, "outbound|80|v1|api.shop.svc.cluster.local", "forwarded"],
        [10, "outbound|80|v2|api.shop.svc.cluster.local", "refused"],
      ],
    );
    assert.equal(sent.destinations[1]?.end.reason, "503: outbound|80|v2|api.shop.svc.cluster.local has no endpoints.");
    const cluster = hop(sent, "cluster");
    assert.deepEqual(cluster?.objects, ["DestinationRule/shop/api"]);
    assert.ok(cluster?.facts.includes("At most 7 waiting requests."), JSON.stringify(cluster?.facts));
  });

  it("goes on at the receiver, with what the route rewrote", () => {
    const { sent, received } = way(routes, { Headers: { "x-canary": "yes" } });
    assert.deepEqual(sent.destinations[0]?.request, {
      HostHeader: "inner",
      Path: "/v2/a",
      Headers: { "x-canary": "yes", "x-from": "mesh" },
    });
    assert.deepEqual(received?.end, {
      kind: "forwarded",
      reason: "It goes to the application on port 8080.",
      unless: [],
    });
    assert.equal(hop(received, "route")?.name, "default");
  });

  const ends: readonly { readonly name: string; readonly call: Partial<Call>; readonly want: string }[] = [
    { name: "a fault", call: { Path: "/broken" }, want: "418: a fault answers every request of this route." },
    { name: "a redirect", call: { Path: "/moved" }, want: "301: a redirect to http://api/here." },
    { name: "a path that no route takes", call: { Path: "/other" }, want: "404: no route takes the request." },
    {
      name: "a port without a service",
      call: { Port: 81, Address: "192.0.2.1" },
      want: "It goes to 192.0.2.1:81, where it was going.",
    },
  ];
  for (const { name, call, want } of ends)
    it(`ends at ${name}`, () => assert.equal(way(routes, call).sent.end.reason, want));

  it("carries bytes of TCP to its cluster", () => {
    const { sent, received } = way("", { Port: 9000, Protocol: "tcp" });
    assert.equal(sent.destinations[0]?.cluster, "outbound|9000||api.shop.svc.cluster.local");
    assert.equal(received?.end.reason, "It goes to the application on port 9001.");
  });
});

describe("the receiving side", () => {
  const cases: readonly {
    readonly name: string;
    readonly config: string;
    readonly call?: Partial<Call>;
    readonly want: string;
    readonly unless?: readonly string[];
  }[] = [
    {
      name: "names the policy that refuses",
      config: policy("no-v1", "action: DENY, rules: [{ to: [{ operation: { paths: [/v1*] } }] }]"),
      want: "403: Refused by the DENY policy ns[shop]-policy[no-v1]-rule[0]. (AuthorizationPolicy/shop/no-v1)",
    },
    {
      name: "names the policies none of which admits",
      config: policy("only-boss", "rules: [{ from: [{ source: { principals: [cluster.local/ns/shop/sa/boss] } }] }]"),
      want: "403: No ALLOW policy matches: ns[shop]-policy[only-boss]-rule[0]. (AuthorizationPolicy/shop/only-boss)",
    },
    {
      name: "admits the identity of the caller",
      config: policy("only-web", "rules: [{ from: [{ source: { principals: [cluster.local/ns/shop/sa/web] } }] }]"),
      want: "It goes to the application on port 8080.",
    },
    {
      name: "matches templates of paths",
      config: policy("users", 'rules: [{ to: [{ operation: { paths: ["/v1/{*}"] } }] }]'),
      want: "It goes to the application on port 8080.",
    },
    {
      name: "which match one segment alone",
      config: policy("users", 'rules: [{ to: [{ operation: { paths: ["/v1/{*}"] } }] }]'),
      call: { Path: "/v1/a/b" },
      want: "403: No ALLOW policy matches: ns[shop]-policy[users]-rule[0]. (AuthorizationPolicy/shop/users)",
    },
    {
      name: "refuses tokens of others",
      config: tokens,
      call: { Claims: { iss: "you" } },
      want: "401: Takes tokens of me, not of you.",
    },
    {
      name: "admits claims of a token",
      config: `${tokens}${policy("role", 'rules: [{ when: [{ key: "request.auth.claims[role]", values: [admin] }] }]')}`,
      call: { Claims: { iss: "me", sub: "x", role: ["dev", "admin"] } },
      want: "It goes to the application on port 8080.",
    },
    {
      name: "and misses them without a token",
      config: `${tokens}${policy("role", 'rules: [{ when: [{ key: "request.auth.claims[role]", values: [admin] }] }]')}`,
      want: "403: No ALLOW policy matches: ns[shop]-policy[role]-rule[0]. (AuthorizationPolicy/shop/role)",
    },
    {
      name: "leaves open what depends on an address before",
      config: policy("near", "rules: [{ from: [{ source: { remoteIpBlocks: [10.0.0.0/8] } }] }]"),
      call: { Headers: { "x-forwarded-for": "10.2.3.4" } },
      want: "It goes to the application on port 8080.",
      unless: ["authorization ALLOW policies"],
    },
  ];
  for (const { name, config, call = {}, want, unless = [] } of cases)
    it(name, () => {
      const { received } = way(config, call);
      assert.equal(received?.end.reason, want);
      assert.deepEqual(received?.end.unless, unless);
    });

  it("closes connections in plain text where mutual TLS is STRICT", () => {
    const off = `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: api, namespace: shop }
spec: { host: api, trafficPolicy: { tls: { mode: DISABLE } } }
---`;
    const { received } = way(`${strict}${off}`, {});
    assert.equal(received?.end.kind, "closed");
    assert.deepEqual(hop(received, "filter chain")?.facts, [
      "No filter chain takes plain text on port 8080.",
      "Mutual TLS is STRICT on port 8080.",
    ]);
  });

  const modes: readonly (readonly [config: string, mode: string])[] = [
    ["", "PERMISSIVE"],
    [strict, "STRICT"],
    [strict.replace("STRICT", "DISABLE"), "DISABLE"],
  ];
  for (const [config, mode] of modes)
    it(`has the mode ${mode}`, () => {
      const facts = hop(way(config, {}).received, "filter chain")?.facts ?? [];
      assert.ok(facts.includes(`Mutual TLS is ${mode} on port 8080.`), facts.join(" "));
    });
});

describe("filters that are not evaluated", () => {
  const envoyFilter = (type: string, name: string, value: string) => `
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: { name: ${name}, namespace: shop }
spec:
  configPatches:
  - applyTo: HTTP_FILTER
    match: { context: SIDECAR_INBOUND }
    patch:
      operation: INSERT_FIRST
      value: { name: ${name}, typed_config: { "@type": type.googleapis.com/${type}, ${value} } }
---`;
  const lua = "envoy.extensions.filters.http.lua.v3.Lua";
  it("are hops whose answer is unknown, and the end names them", () => {
    const script = 'default_source_code: { inline_string: "function envoy_on_request(h) end" }';
    const { received } = way(envoyFilter(lua, "script", script), {});
    assert.deepEqual(
      received?.hops.filter(({ verdict }) => verdict === "unknown").map(({ name, facts }) => [name, ...facts]),
      [["script", "A Lua script decides while requests pass."]],
    );
    assert.deepEqual(received?.end.unless, ["filter script"]);
  });
});

describe("external authorizers", () => {
  const meshConfig = {
    extensionProviders: [
      { name: "opa", envoyExtAuthzGrpc: { service: "web.shop.svc.cluster.local", port: 9000 } },
      { name: "other", envoyExtAuthzHttp: { service: "web.shop.svc.cluster.local", port: 80 } },
    ],
  };
  const asking = (name: string, provider: string, rules: string) =>
    policy(name, `action: CUSTOM, provider: { name: ${provider} }, rules: [${rules}]`);
  const admin = asking("admin", "opa", "{ to: [{ operation: { paths: [/admin*] } }] }");
  const application = "It goes to the application on port 8080.";
  const cases: readonly {
    readonly name: string;
    readonly config: string;
    readonly path: string;
    readonly hops: readonly string[];
    readonly reason: string;
    readonly unless: readonly string[];
  }[] = [
    {
      name: "decide calls that a CUSTOM policy selects: the way goes on unless they refuse",
      config: admin,
      path: "/admin/x",
      hops: ["unknown: The external authorizer opa decides, as ns[shop]-policy[admin]-rule[0] has it."],
      reason: application,
      unless: ["authorization envoy.filters.http.ext_authz"],
    },
    {
      name: "are not asked about others",
      config: admin,
      path: "/v1/a",
      hops: ["passes: The external authorizer opa is not asked: no CUSTOM policy selects this call."],
      reason: application,
      unless: [],
    },
    {
      name: "do not decide what a DENY policy refuses after them",
      config: `${admin}${policy("none", "action: DENY, rules: [{ to: [{ operation: { paths: [/admin*] } }] }]")}`,
      path: "/admin/x",
      hops: ["unknown: The external authorizer opa decides, as ns[shop]-policy[admin]-rule[0] has it."],
      reason: "403: Refused by the DENY policy ns[shop]-policy[none]-rule[0]. (AuthorizationPolicy/shop/none)",
      unless: ["authorization envoy.filters.http.ext_authz"],
    },
  ];
  for (const { name, config, path, hops, reason, unless } of cases)
    it(name, () => {
      const { received } = way(config, { Path: path }, meshConfig);
      const asked = received?.hops.filter((one) => one.name.includes("ext_authz")) ?? [];
      assert.deepEqual(
        asked.map(({ verdict, facts }) => `${verdict}: ${facts.join(" ")}`),
        hops,
      );
      assert.deepEqual([received?.end.reason, received?.end.unless], [reason, unless]);
      const decides = asked.some(({ verdict }) => verdict === "unknown");
      const objects = decides ? ["AuthorizationPolicy/shop/admin"] : [];
      assert.deepEqual(
        asked.flatMap((one) => one.objects),
        objects,
      );
    });

  it("that a policy names and no provider is refuse all that the policy selects", () => {
    const { received } = way(asking("admin", "absent", "{ to: [{ operation: { paths: [/admin*] } }] }"), {
      Path: "/admin/x",
    });
    assert.equal(received?.end.kind, "refused", JSON.stringify(received?.hops));
  });
});

it("equal inputs give equal traces", () => {
  const once = way(routes, { Headers: { "x-canary": "yes" } });
  assert.deepEqual(JSON.stringify(way(routes, { Headers: { "x-canary": "yes" } })), JSON.stringify(once));
});
