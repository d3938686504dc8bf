import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { type Config, type Proxy, parseNode } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { aConfig, aMesh, aPort, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

const pem = (text: string) => btoa(text);
const secret = (name: string, data: Readonly<Record<string, string>>, namespace = "shop") =>
  aConfig("Secret", namespace, name, { data });
const rule = (name: string, credentialName: string, workloadSelector?: { matchLabels: Record<string, string> }) =>
  aConfig("DestinationRule", "shop", name, {
    host: name,
    trafficPolicy: { tls: { mode: "MUTUAL", credentialName } },
    ...(workloadSelector && { workloadSelector }),
  });

const web = { matchLabels: { app: "web" } };
const core = aMesh(
  secret("pair", { "tls.crt": pem("cert"), "tls.key": pem("key"), "ca.crt": pem("root") }),
  secret("generic", { cert: pem("cert"), key: pem("key") }),
  secret("generic-cacert", { cacert: pem("own root"), crl: pem("crl") }),
  secret("half", { "tls.crt": pem("cert") }),
  secret("ungranted", { "tls.crt": pem("cert"), "tls.key": pem("key") }),
  secret("foreign", { "tls.crt": pem("cert"), "tls.key": pem("key") }, "other"),
  ...["pair", "generic", "half", "other/foreign"].map((name, index) => rule(`r${index}`, name, web)),
  rule("open", "ungranted"),
);

const cases = [
  { name: "a key pair of the own namespace", ask: "kubernetes://pair", fields: ["name", "tlsCertificate"] },
  { name: "its root", ask: "kubernetes://pair-cacert", fields: ["name", "validationContext"] },
  { name: "a root in a Secret of its own", ask: "kubernetes://generic-cacert", fields: ["name", "validationContext"] },
  { name: "a certificate without its key", ask: "kubernetes://half", fields: undefined },
  { name: "a Secret of another namespace", ask: "kubernetes://other/foreign", fields: undefined },
  { name: "a Secret that only rules for everybody name", ask: "kubernetes://ungranted", fields: undefined },
  { name: "the workload's own certificate, which its agent serves", ask: "default", fields: undefined },
];

for (const { name, ask, fields } of cases) {
  test(`${name} is ${fields === undefined ? "not " : ""}handed out`, () => {
    const found = resourceOf(core, aSidecar("shop"), typeUrl.secret, ask);
    assert.deepEqual(found && Object.keys(found).filter((key) => key !== "@type"), fields);
  });
}

test("a workload that no rule selects gets nothing", () => {
  const proxy = aSidecar("shop", { LABELS: { app: "batch" } });
  assert.equal(resourceOf(core, proxy, typeUrl.secret, "kubernetes://pair"), undefined);
});

const routerId = "router~10.0.0.2~edge.shop~shop.svc.cluster.local";
const aRouter = (namespace: string, labels: Readonly<Record<string, string>> = {}) =>
  parseNode({
    id: routerId.replaceAll("shop", namespace),
    metadata: { NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", LABELS: labels },
  });
const block = (label: string) => btoa(`-----BEGIN ${label}-----\nAAAA\n-----END ${label}-----\n`);
const pemPair = { "tls.crt": block("CERTIFICATE"), "tls.key": block("PRIVATE KEY"), "ca.crt": block("CERTIFICATE") };
const gateways = { group: "gateway.networking.k8s.io", kind: "Gateway" };
const referenceGrant = (namespace: string, from: JsonObject, to: JsonObject) =>
  aConfig("ReferenceGrant", namespace, "grant", { from: [from], to: [to] });

/** A Gateway `edge` of `infra` with a listener for each reference, a ListenerSet of `team`, and grants of `priv`, `open` and `apps`. */
const gatewayMesh = () => {
  const refs = [{ name: "a" }, ...["priv", "open", "apps"].map((namespace) => ({ name: "a", namespace }))];
  const listener = (ref: JsonObject, index: number) => ({
    ...{ name: `l${index}`, port: 443, protocol: "HTTPS", hostname: `${index}.example` },
    tls: { certificateRefs: [ref] },
  });
  return aMesh(
    aService("edge-istio", "infra", {
      ports: [aPort("https", 443, "HTTPS")],
      labelSelectors: { app: "edge" },
      kubernetes: { type: "LoadBalancer", nodeLocal: false, targetPorts: { 443: "8443" } } as never,
    }),
    ...["infra", "priv", "open", "apps", "team", "shop"].map((namespace) => secret("a", pemPair, namespace)),
    ...["infra", "priv"].map((namespace) => secret("unnamed", pemPair, namespace)),
    aConfig("KubernetesGateway", "infra", "edge", {
      ...{ gatewayClassName: "istio", allowedListeners: { namespaces: { from: "All" } } },
      listeners: refs.map(listener),
    }),
    aConfig("ListenerSet", "team", "more", {
      parentRef: { name: "edge", namespace: "infra" },
      listeners: [listener({ name: "a" }, 9)],
    }),
    referenceGrant("priv", { ...gateways, namespace: "infra" }, { group: "", kind: "Secret", name: "a" }),
    referenceGrant("open", { ...gateways, namespace: "shop" }, { group: "", kind: "Secret" }),
    referenceGrant("apps", { ...gateways, kind: "HTTPRoute", namespace: "infra" }, { group: "", kind: "Secret" }),
  );
};

describe("Secrets of gateways", () => {
  const edge = aRouter("infra", { app: "edge" });
  const cases: readonly (readonly [string, Proxy, string, boolean])[] = [
    ["one that its Gateway names", edge, "kubernetes-gateway://infra/a", true],
    ["its root", edge, "kubernetes-gateway://infra/a-cacert", true],
    ["one of another namespace with a grant", edge, "kubernetes-gateway://priv/a", true],
    ["one of a ListenerSet's own namespace", edge, "kubernetes-gateway://team/a", true],
    ["one with a grant to another namespace", edge, "kubernetes-gateway://open/a", false],
    ["one with a grant to routes", edge, "kubernetes-gateway://apps/a", false],
    ["one that its Gateway does not name", edge, "kubernetes-gateway://infra/unnamed", false],
    ["a granted namespace's other one", edge, "kubernetes-gateway://priv/unnamed", false],
    ["a foreign one by the other scheme", edge, "kubernetes://priv/a", false],
    ["the root of a foreign one by the other scheme", edge, "kubernetes://priv/a-cacert", false],
    ["one by an odd name", edge, "kubernetes-gateway://infra/../infra/a", false],
    ["one for another router beside it", aRouter("infra", { app: "b" }), "kubernetes-gateway://infra/a", false],
    [
      "one for a sidecar beside it",
      aSidecar("infra", { LABELS: { app: "edge" } }),
      "kubernetes-gateway://infra/a",
      false,
    ],
    ["one for a router elsewhere", aRouter("priv", { app: "edge" }), "kubernetes-gateway://priv/a", false],
    ["one of its own namespace", aRouter("shop"), "kubernetes://a", true],
    ["the same, with the namespace", aRouter("shop"), "kubernetes://shop/a", true],
  ];
  const mesh = gatewayMesh();
  for (const [what, proxy, name, isSent] of cases)
    it(`${what} is ${isSent ? "" : "not "}sent`, () =>
      assert.equal(resourceOf(mesh, proxy, typeUrl.secret, name) !== undefined, isSent));

  it("a grant that ends takes its Secret back", () => {
    const mesh = gatewayMesh();
    const key = { kind: "ReferenceGrant", namespace: "priv", name: "grant" };
    assert.deepEqual(mesh.apply([{ type: "config", op: "delete", key }]), []);
    assert.equal(resourceOf(mesh, edge, typeUrl.secret, "kubernetes-gateway://priv/a"), undefined);
  });

  const written = (namespace: string, credentialName: string) =>
    aConfig("Gateway", namespace, "written", {
      selector: { app: "edge" },
      servers: [{ port: { number: 443, name: "https", protocol: "HTTPS" }, tls: { credentialName } }],
    });
  const inGrant = referenceGrant("priv", { ...gateways, namespace: "infra" }, { group: "", kind: "Secret" });
  for (const [what, gateway, grants, name, isSent] of [
    ["in its own namespace", written("infra", "kubernetes-gateway://infra/a"), [], "infra", true],
    ["by a Gateway of another namespace", written("shop", "kubernetes-gateway://infra/a"), [], "infra", false],
    ["in another namespace", written("infra", "kubernetes-gateway://priv/a"), [], "priv", false],
    ["in another namespace with a grant", written("infra", "kubernetes-gateway://priv/a"), [inGrant], "priv", true],
  ] as const)
    it(`one that a Gateway of Istio's API names ${what} is ${isSent ? "" : "not "}sent`, () => {
      const mesh = aMesh(secret("a", pemPair, name), gateway, ...grants);
      const found = resourceOf(mesh, edge, typeUrl.secret, `kubernetes-gateway://${name}/a`);
      assert.equal(found !== undefined, isSent);
    });
});

describe("layouts of Secrets", () => {
  const text = (value: unknown) => Buffer.from(String(value), "base64").toString();
  const routerOf = (data: Readonly<Record<string, string>>) => aMesh(secret("s", data));
  const sent = (data: Readonly<Record<string, string>>, ask: string) => {
    const { tlsCertificate, validationContext } = (resourceOf(routerOf(data), aRouter("shop"), typeUrl.secret, ask) ??
      {}) as Record<string, Record<string, { inlineBytes: string }>>;
    const fields = Object.entries(tlsCertificate ?? validationContext ?? {});
    return Object.fromEntries(fields.map(([name, { inlineBytes }]) => [name, text(inlineBytes)]));
  };
  const tls = {
    "tls.crt": pem("C"),
    "tls.key": pem("K"),
    "tls.ocsp-staple": pem("O"),
    "ca.crt": pem("R"),
    "ca.crl": pem("L"),
  };
  const generic = { cert: pem("c"), key: pem("k"), cacert: pem("r"), crl: pem("l") };

  for (const [what, data, pair, root] of [
    [
      "kubernetes.io/tls",
      tls,
      { certificateChain: "C", privateKey: "K", ocspStaple: "O" },
      { crl: "L", trustedCa: "R" },
    ],
    ["generic", generic, { certificateChain: "c", privateKey: "k" }, { crl: "l", trustedCa: "r" }],
    ["both", { ...tls, ...generic }, { certificateChain: "c", privateKey: "k" }, { crl: "l", trustedCa: "r" }],
    ["roots only", { "ca.crt": pem("R") }, {}, { trustedCa: "R" }],
    ["a key that is not base64", { ...tls, "tls.key": "not base64!" }, {}, { crl: "L", trustedCa: "R" }],
    ["empty fields", { ...tls, "tls.key": "", "ca.crt": "" }, {}, {}],
  ] as const)
    it(`${what}: key pair and root`, () => {
      assert.deepEqual(sent(data, "kubernetes://s"), pair);
      assert.deepEqual(sent(data, "kubernetes://s-cacert"), root);
    });

  it("a Secret named -cacert hides the roots beside the key pair, also when it has none", () => {
    const mesh = aMesh(secret("s", tls), secret("s-cacert", { other: pem("x") }));
    assert.equal(resourceOf(mesh, aRouter("shop"), typeUrl.secret, "kubernetes://s-cacert"), undefined);
  });

  it("roots of a ConfigMap are text", () => {
    const roots = aConfig("ConfigMap", "pki", "roots", { data: { "ca.crt": "Wurzel für alle" } });
    const found = resourceOf(aMesh(roots), aSidecar("shop"), typeUrl.secret, "configmap://pki/roots-cacert");
    const { trustedCa } = (found?.["validationContext"] ?? {}) as {
      readonly trustedCa?: { readonly inlineBytes: string };
    };
    assert.equal(text(trustedCa?.inlineBytes), "Wurzel für alle");
  });
});

describe("accelerators that sign with keys of Secrets", () => {
  const key = { "tls.crt": pem("C"), "tls.key": pem("K"), "tls.ocsp-staple": pem("O") };
  const ofMesh = (privateKeyProvider: JsonObject) =>
    aConfig("MeshConfig", "istio-system", "istio", { defaultConfig: { privateKeyProvider } });
  const sent = (own: JsonObject | undefined, ...mesh: readonly Config[]) => {
    const metadata = own === undefined ? {} : { PROXY_CONFIG: own };
    const router = parseNode({ id: routerId, metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", ...metadata } });
    const found = resourceOf(aMesh(secret("s", key), ...mesh), router, typeUrl.secret, "kubernetes://s");
    const { privateKey, privateKeyProvider, ocspStaple } = (found?.["tlsCertificate"] ?? {}) as JsonObject;
    assert.ok(ocspStaple !== undefined);
    return privateKeyProvider ?? privateKey;
  };
  const plain = { inlineBytes: pem("K") };
  const accelerated = (providerName: string, type: string, pollDelay: string, more: JsonObject = {}) => {
    const at = `type.googleapis.com/envoy.extensions.private_key_providers.${providerName}.v3alpha`;
    const typedConfig = { "@type": `${at}.${type}PrivateKeyMethodConfig`, pollDelay, privateKey: plain };
    return { providerName, typedConfig, ...more };
  };
  const qat = { qat: { pollDelay: "1.5s", fallback: true } };
  const cryptomb = { cryptomb: { pollDelay: "0.0002s" } };
  const byQat = accelerated("qat", "Qat", "1.500s", { fallback: true });

  for (const [what, own, mesh, want] of [
    ["none", {}, [], plain],
    ["the proxy's own", { privateKeyProvider: qat }, [], byQat],
    ["the proxy's own before the mesh's", { privateKeyProvider: qat }, [ofMesh(cryptomb)], byQat],
    ["none of the mesh where the proxy has a ProxyConfig without one", {}, [ofMesh(cryptomb)], plain],
    ["the mesh's", undefined, [ofMesh(cryptomb)], accelerated("cryptomb", "CryptoMb", "0.000200s")],
    ["none that waits no time between its polls", { privateKeyProvider: { qat: { pollDelay: "0s" } } }, [], plain],
    ["none without a time", { privateKeyProvider: { cryptomb: {} } }, [], plain],
    ["none that is unreadable", { privateKeyProvider: { qat: { pollDelay: 3 } } }, [], plain],
  ] as const)
    it(`are ${what}`, () => assert.deepEqual(sent(own, ...mesh), want));
});

describe("unknown or forbidden secrets", () => {
  for (const [what, data, ask, message] of [
    ["a Secret that does not exist", {}, "kubernetes://none", /Secret\/shop\/none .*there are no certificate and key/],
    ["roots that do not exist", {}, "kubernetes://s-cacert", /Secret\/shop\/s-cacert .*there are no roots/],
    ["a foreign Secret", {}, "kubernetes://other/s", /Secret\/other\/s .*may not have it/],
  ] as const)
    it(`is reported: ${what}`, () => {
      const core = aMesh(secret("s", data));
      const observed = core.observe(core.subjectOf(aRouter("shop")), typeUrl.secret, nameSet([ask]), () => {});
      const texts = core.findings().map((finding) => `${finding.object} ${finding.message}`);
      assert.equal(texts.length, 1);
      assert.match(texts.join(), message);
      observed?.release();
    });
});
