import { describeRules } from "./rules.fixture.ts";

const rule = (one: object, more: object = {}) => ({ rules: [one], ...more });
const from = (source: object) => rule({ from: [{ source }] });
const to = (operation: object, more: object = {}) => rule({ to: [{ operation }] }, more);
const when = (key: string, values: readonly string[]) => rule({ when: [{ key, values }] });
const custom = (one: object) => ({ action: "CUSTOM", provider: { name: "p" }, rules: [one] });
const target = { group: "gateway.networking.k8s.io", kind: "Gateway", name: "gw" };

describeRules("security.istio.io/v1", "AuthorizationPolicy", [
  [
    "targets or workloads",
    { targetRefs: [target] },
    { targetRefs: [target], selector: { matchLabels: { a: "b" } } },
    /^spec: only one of selector/,
  ],
  [
    "targets have names",
    { targetRef: target },
    { targetRef: { ...target, name: "" } },
    /targetRef\.name: must not be empty/,
  ],
  [
    "targets are of the namespace",
    { targetRef: target },
    { targetRef: { ...target, namespace: "b" } },
    /targetRef\.namespace: must not be set/,
  ],
  [
    "targets are of known kinds",
    { targetRefs: [{ kind: "Service", name: "a" }] },
    { targetRefs: [{ kind: "Pod", name: "a" }] },
    /targetRefs\[0\]: \/Pod is none of/,
  ],
  ["denials name requests", { action: "DENY", rules: [{}] }, { action: "DENY" }, /rules: is required for action DENY/],
  [
    "providers are named",
    custom({}),
    { action: "CUSTOM", rules: [{}] },
    /provider\.name: is required for action CUSTOM/,
  ],
  [
    "providers are for action CUSTOM",
    custom({}),
    { provider: { name: "p" } },
    /provider: is for action CUSTOM, not for ALLOW/,
  ],
  [
    "providers decide on requests",
    custom({ to: [{ operation: { paths: ["/"] } }] }),
    custom({ from: [{ source: { principals: ["a"] } }], when: [{ key: "source.namespace", values: ["a"] }] }),
    /principals: is not supported with action CUSTOM/,
    /source\.namespace is not supported/,
  ],
  [
    "lists of callers are not empty",
    rule({}),
    rule({ from: [] }),
    /warning spec\.rules\[0\]\.from: is empty and restricts nothing/,
  ],
  ["sources are named", from({ principals: ["a"] }), rule({ from: [{}] }), /source: is required/],
  ["sources ask something", from({ principals: ["a"] }), from({}), /source: must not be empty/],
  [
    "values are not empty",
    from({ namespaces: ["a"] }),
    from({ namespaces: ["a", ""] }),
    /namespaces\[1\]: must not be empty/,
  ],
  [
    "addresses are ranges",
    from({ ipBlocks: ["10.0.0.0/8"], notRemoteIpBlocks: ["fd00::/8"] }),
    from({ remoteIpBlocks: ["a"] }),
    /remoteIpBlocks\[0\]: "a" is neither/,
  ],
  [
    "accounts have their form",
    from({ serviceAccounts: ["shop/web", "web"] }),
    from({ serviceAccounts: ["a/b/c"] }),
    /serviceAccounts\[0\]: "a\/b\/c"/,
  ],
  [
    "accounts stand without principals",
    from({ serviceAccounts: ["a"] }),
    from({ serviceAccounts: ["a"], principals: ["b"] }),
    /source: serviceAccounts must not be set beside/,
  ],
  [
    "trust domains have one *",
    from({ trustDomains: ["*.example"] }),
    from({ trustDomains: ["a*b"] }),
    /trustDomains\[0\]: "a\*b" is no trust domain/,
  ],
  ["operations are named", to({ methods: ["GET"] }), rule({ to: [{}] }), /operation: is required/],
  ["ports are ports", to({ ports: ["80"] }), to({ ports: ["http"] }), /ports\[0\]: "http" is no port/],
  [
    "templates have whole segments",
    to({ paths: ["/a/{*}/b/{**}"] }),
    to({ paths: ["/{**}/{*}"] }),
    /\{\*\*\} is not the last operator/,
  ],
  ["conditions have keys", when("source.ip", ["10.0.0.1"]), when("", ["a"]), /when\[0\]\.key: must not be empty/],
  [
    "conditions have values",
    when("source.ip", ["10.0.0.1"]),
    when("source.ip", []),
    /when\[0\]: needs values or notValues/,
  ],
  [
    "attributes are known",
    when("request.headers[x-a]", ["a"]),
    when("source.name", ["a"]),
    /key: source\.name is no attribute/,
  ],
  [
    "attributes of earlier APIs are not",
    when("destination.port", ["80"]),
    when("destination.user", ["a"]),
    /key: destination\.user is not supported/,
  ],
  [
    "maps have keys",
    when("request.auth.claims[iss]", ["a"]),
    when("request.headers[]", ["a"]),
    /has no key in brackets/,
  ],
  [
    "denials are of connections or of ports",
    to({ methods: ["GET"], ports: ["80"] }, { action: "DENY" }),
    to({ methods: ["GET"] }, { action: "DENY" }),
    /^warning spec\.rules\[0\]: denies all TCP traffic/,
  ],
]);

const dry = (value: string) => ({ annotations: { "istio.io/dry-run": value } });
describeRules("security.istio.io/v1", "AuthorizationPolicy", [
  [
    "action AUDIT is in force",
    { action: "AUDIT" },
    { action: "AUDIT", provider: {} },
    /provider: is for action CUSTOM/,
  ],
]);
describeRules(
  "security.istio.io/v1",
  "AuthorizationPolicy",
  [
    [
      "policies are tried that allow or deny",
      {},
      { action: "AUDIT" },
      /^metadata\.annotations\[istio\.io\/dry-run\]: a policy with action AUDIT/,
    ],
  ],
  dry("true"),
);

describeRules("security.istio.io/v1", "PeerAuthentication", [
  [
    "ports are those of workloads",
    { selector: { matchLabels: { a: "b" } }, portLevelMtls: { 80: {} } },
    { portLevelMtls: { 80: {} } },
    /portLevelMtls: needs a selector/,
  ],
  [
    "ports are ports",
    { selector: { matchLabels: { a: "b" } }, portLevelMtls: { 80: {} } },
    { selector: { matchLabels: { a: "b" } }, portLevelMtls: { 0: {} } },
    /portLevelMtls\[0\]: "0" is no port/,
  ],
  ["settings name ports", { mtls: { mode: "STRICT" } }, { portLevelMtls: {} }, /portLevelMtls: names no port/],
]);

const jwt = (more: object) => ({ jwtRules: [{ issuer: "a", ...more }] });
const key = { kty: "RSA", n: "a", e: "AQAB" };
describeRules("security.istio.io/v1", "RequestAuthentication", [
  ["issuers are named", jwt({}), { jwtRules: [{}] }, /jwtRules\[0\]: needs issuer or jwksUri/],
  [
    "keys are fetched by HTTP",
    jwt({ jwksUri: "https://a.example/keys" }),
    jwt({ jwksUri: "a.example" }),
    /jwksUri: "a\.example" is no URI/,
  ],
  ["keys are JSON", jwt({ jwks: JSON.stringify({ keys: [key] }) }), jwt({ jwks: "a" }), /jwks: is no JSON object/],
  [
    "keys are whole",
    jwt({ jwks: JSON.stringify(key) }),
    jwt({ jwks: JSON.stringify({ keys: [{ kty: "RSA" }] }) }),
    /jwks: key 0 of type RSA has no n/,
  ],
  [
    "keys are of known types",
    jwt({ jwks: JSON.stringify(key) }),
    jwt({ jwks: JSON.stringify({ kty: "X" }) }),
    /key 0 has the unknown type "X"/,
  ],
  [
    "keys are public",
    jwt({ jwks: JSON.stringify(key) }),
    jwt({ jwks: JSON.stringify({ ...key, d: "a" }) }),
    /^warning .*jwks: key 0 is a private key/,
  ],
  [
    "places of tokens are named",
    jwt({ fromParams: ["a"], fromHeaders: [{ name: "a" }] }),
    jwt({ fromCookies: [""], fromHeaders: [{ prefix: "a" }] }),
    /fromCookies\[0\]: must not be empty/,
    /fromHeaders\[0\]\.name: must not be empty/,
  ],
  [
    "claims become headers",
    jwt({ outputClaimToHeaders: [{ header: "x-a", claim: "a" }] }),
    jwt({ outputClaimToHeaders: [{ header: "a%" }] }),
    /header: "a%" is no name/,
    /claim: must not be empty/,
  ],
  ["timeouts are durations", jwt({ timeout: "1s" }), jwt({ timeout: "0s" }), /timeout: 0s is less than 1ms/],
]);
