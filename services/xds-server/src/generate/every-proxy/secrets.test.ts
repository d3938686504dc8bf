import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { type Proxy, parseNode } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aSidecar, resourceOf } from "../../testing/mesh.ts";

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
  parseNode({ id: routerId.replaceAll("shop", namespace), metadata: { NAMESPACE: namespace, LABELS: labels } });
const gatewayName = "gateway.networking.k8s.io/gateway-name";

/** A Gateway `edge` of `infra`, a Gateway with addresses, and grants of `priv` and `open`. */
const gatewayMesh = () => {
  const pair = { "tls.crt": pem("cert"), "tls.key": pem("key"), "ca.crt": pem("root") };
  const gateway = (namespace: string, name: string, refs: JsonObject[], more: JsonObject = {}) =>
    aConfig("KubernetesGateway", namespace, name, { listeners: [{ tls: { certificateRefs: refs } }], ...more });
  const grant = (namespace: string, from: JsonObject, to: JsonObject) =>
    aConfig("ReferenceGrant", namespace, "grant", { from: [from], to: [to] });
  const gateways = { group: "gateway.networking.k8s.io", kind: "Gateway" };
  return aMesh(
    ...["infra", "priv", "open", "apps", "shop"].map((namespace) => secret("a", pair, namespace)),
    ...["infra", "priv"].map((namespace) => secret("unnamed", pair, namespace)),
    gateway("infra", "edge", [
      { name: "a" },
      ...["priv", "open", "apps"].map((namespace) => ({ name: "a", namespace })),
    ]),
    gateway("shop", "manual", [{ name: "a" }], { addresses: [{ value: "edge.shop" }] }),
    grant("priv", { ...gateways, namespace: "infra" }, { group: "", kind: "Secret", name: "a" }),
    grant("open", { ...gateways, namespace: "shop" }, { group: "", kind: "Secret" }),
    grant("apps", { group: gateways.group, kind: "HTTPRoute", namespace: "infra" }, { group: "", kind: "Secret" }),
  );
};

describe("Secrets of gateways", () => {
  const edge = aRouter("infra", { [gatewayName]: "edge" });
  const sidecar = aSidecar("infra");
  const manual = aRouter("shop");
  const cases: readonly (readonly [string, Proxy, string, boolean])[] = [
    ["one that its Gateway names", edge, "kubernetes-gateway://infra/a", true],
    ["its root", edge, "kubernetes-gateway://infra/a-cacert", true],
    ["one of another namespace with a grant", edge, "kubernetes-gateway://priv/a", true],
    ["one with a grant to another namespace", edge, "kubernetes-gateway://open/a", false],
    ["one with a grant to routes", edge, "kubernetes-gateway://apps/a", false],
    ["one that its Gateway does not name", edge, "kubernetes-gateway://infra/unnamed", false],
    ["a granted namespace's other one", edge, "kubernetes-gateway://priv/unnamed", false],
    ["a foreign one by the other scheme", edge, "kubernetes://priv/a", false],
    ["the root of a foreign one by the other scheme", edge, "kubernetes://priv/a-cacert", false],
    ["one by an odd name", edge, "kubernetes-gateway://infra/../infra/a", false],
    [
      "one of another Gateway of its namespace",
      aRouter("infra", { [gatewayName]: "b" }),
      "kubernetes-gateway://infra/a",
      false,
    ],
    ["one for a sidecar beside the Gateway", sidecar, "kubernetes-gateway://infra/a", false],
    [
      "one that a Gateway elsewhere names",
      aRouter("apps", { [gatewayName]: "edge" }),
      "kubernetes-gateway://apps/a",
      false,
    ],
    ["one of a Gateway with addresses", manual, "kubernetes-gateway://shop/a", true],
    ["one of its own namespace", manual, "kubernetes://a", true],
    ["the same, with the namespace", manual, "kubernetes://shop/a", true],
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
