/** Paths of Ingresses as routes: what each type matches, in which order, and for which back end. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import {
  gatewayLabel,
  type IngressBackend,
  type IngressSpec,
  ingressGateway,
  ingressVirtualServices,
  isServedIngress,
  pathLength,
} from "./ingress.ts";

const web: IngressBackend = { service: { name: "web", port: { number: 80 } } };
const lookups = {
  domain: "cluster.local",
  gatewayNamespace: "istio-system",
  portOf: (namespace: string, service: string, port: string) =>
    `${namespace}/${service}/${port}` === "shop/web/http" ? 8080 : undefined,
};
const ingressOf = (spec: IngressSpec): Config<IngressSpec> => {
  const key = { kind: "Ingress", namespace: "shop", name: "i" };
  return { key, labels: {}, annotations: {}, creationTimeMs: 0, spec };
};

/** `TYPE PATH → HOST:PORT` of each route, in order. */
function routesOf(spec: IngressSpec): readonly string[] {
  const [found] = ingressVirtualServices([ingressOf(spec)], lookups);
  return (found?.spec.http ?? []).map(({ match, route }) => {
    const { matchType } = match[0]?.uri ?? {};
    const to = route[0]?.destination;
    const what = matchType?.case === undefined ? "all" : `${matchType.case} ${matchType.value}`;
    return `${what} → ${to?.host}:${to?.port?.number}`;
  });
}

const at = "web.shop.svc.cluster.local:80";
const paths: readonly (readonly [name: string, path: string | undefined, pathType: string | undefined, is: string])[] =
  [
    ["a prefix", "/a", "Prefix", "prefix /a"],
    ["a prefix that ends in a star is taken as it is", "/a/*", "Prefix", "prefix /a/*"],
    ["the whole path", "/a", "Exact", "exact /a"],
    ["the whole path, although it ends in a star", "/a/*", "Exact", "exact /a/*"],
    ["the whole path, where no type is stated", "/a", undefined, "exact /a"],
    [
      "a prefix, where no type is stated and it ends in a slash and a star",
      "/a/*",
      "ImplementationSpecific",
      "prefix /a",
    ],
    ["a prefix, where no type is stated and it ends in a dot and a star", "/a.*", undefined, "prefix /a"],
    ["everything, where the prefix is empty", "/*", undefined, "all"],
    ["everything without a path", undefined, undefined, "all"],
  ];

describe("a path of an Ingress is", () => {
  for (const [name, path, pathType, is] of paths)
    it(name, () => {
      const one = { backend: web, ...(path !== undefined && { path }), ...(pathType !== undefined && { pathType }) };
      assert.deepEqual(routesOf({ rules: [{ http: { paths: [one] } }] }), [`${is} → ${at}`]);
    });
});

describe("routes of an Ingress", () => {
  it("have longer paths first, of equally long ones the exact, and the catch-all last", () => {
    const all = [undefined, ["/a", "Prefix"], ["/a", "Exact"], ["/abc", "Prefix"]].map((one) =>
      one === undefined ? { backend: web } : { backend: web, path: `${one[0]}`, pathType: `${one[1]}` },
    );
    const order = routesOf({ rules: [{ http: { paths: all } }] }).map((text) => text.replace(` → ${at}`, ""));
    assert.deepEqual(order, ["prefix /abc", "exact /a", "prefix /a", "all"]);
  });
  it("lead to ports by number or name, and not to a back end without such a port", () => {
    const by = (port: object) =>
      routesOf({ rules: [{ http: { paths: [{ backend: { service: { name: "web", port } } }] } }] });
    assert.deepEqual(by({ name: "http" }), ["all → web.shop.svc.cluster.local:8080"]);
    assert.deepEqual(by({ name: "none" }), []);
  });
});

describe("an Ingress is served", () => {
  const controllers: Readonly<Record<string, string>> = { istio: "istio.io/ingress-controller", nginx: "nginx.org/c" };
  const served = (mode: string | undefined, annotation?: string, ingressClassName?: string) =>
    isServedIngress(
      { annotations: annotation === undefined ? {} : { "kubernetes.io/ingress.class": annotation }, ingressClassName },
      (name) => controllers[name],
      mode === undefined ? {} : { ingressControllerMode: mode },
    );
  for (const [annotation, className, ...want] of [
    ["istio", undefined, true, true, false],
    ["istio", "nginx", true, true, false],
    ["nginx", "istio", false, false, false],
    ["", undefined, true, false, false],
    [undefined, "istio", true, true, false],
    [undefined, "nginx", false, false, false],
    [undefined, "unknown", true, false, false],
    [undefined, undefined, true, false, false],
  ] as const)
    it(`with the annotation ${annotation} and the class ${className}: ${want} in DEFAULT, STRICT and OFF`, () =>
      assert.deepEqual(
        ["DEFAULT", "STRICT", "OFF"].map((mode) => served(mode, annotation, className)),
        want,
      ));
  it("in STRICT unless the mesh states otherwise", () => {
    assert.equal(served(undefined), false);
    assert.equal(served(undefined, "istio"), true);
  });
  it("by another class where the mesh names one", () => {
    const ingress = { annotations: { "kubernetes.io/ingress.class": "edge" }, ingressClassName: undefined };
    assert.equal(
      isServedIngress(ingress, () => undefined, { ingressClass: "edge" }),
      true,
    );
  });
});

describe("the Gateway of an Ingress", () => {
  it("has a server for each Secret before the one for plain text", () => {
    const tls = [
      { hosts: ["a.example", "b.example"], secretName: "pair" },
      { secretName: "any" },
      { hosts: ["c.example"] },
    ];
    const { key, creationTimeMs, spec } = ingressGateway(ingressOf({ tls }), {}, "istio-system");
    assert.deepEqual(key, {
      kind: "Gateway",
      namespace: "istio-system",
      name: "i-istio-autogenerated-k8s-ingress-shop",
    });
    assert.deepEqual([creationTimeMs, spec.selector], [0, { istio: "ingressgateway" }]);
    assert.deepEqual(
      spec.servers.map(
        ({ port, hosts, tls: one }) =>
          `${port?.name} ${port?.number} ${port?.protocol} ${hosts} ${one?.credentialName ?? ""}`,
      ),
      [
        "https-443-ingress-i-shop-0 443 HTTPS a.example,b.example pair",
        "https-443-ingress-i-shop-1 443 HTTPS * any",
        "http-80-ingress-i-shop 80 HTTP * ",
      ],
    );
  });
  for (const [settings, label] of [
    [{}, "ingressgateway"],
    [{ ingressService: "istio-ingressgateway" }, "ingressgateway"],
    [{ ingressService: "edge" }, "edge"],
    [{ ingressService: "edge", ingressSelector: "own" }, "own"],
  ] as const)
    it(`selects ${label} with ${JSON.stringify(settings)}`, () => assert.equal(gatewayLabel(settings), label));
});

describe("VirtualServices of several Ingresses", () => {
  const named = (name: string, creationTimeMs: number, spec: IngressSpec) => {
    const { key, ...rest } = ingressOf(spec);
    return { ...rest, key: { ...key, name }, creationTimeMs };
  };
  const rule = (path: string, host?: string) => ({
    ...(host !== undefined && { host }),
    http: { paths: [{ path, pathType: "Prefix", backend: web }] },
  });
  const shown = (...ingresses: readonly Config<IngressSpec>[]) =>
    ingressVirtualServices(ingresses, lookups).map(({ key, creationTimeMs, spec }) => {
      const paths = spec.http.map(({ match }) => match[0]?.uri?.matchType.value ?? "all");
      return `${key.name} ${spec.hosts}@${creationTimeMs === 0 ? "first" : "last"} ${spec.gateways}: ${paths.join(" ")}`;
    });
  const suffix = "istio-autogenerated-k8s-ingress";
  const gatewayOf = (name: string) => `istio-system/${name}-${suffix}-shop`;

  it("are one for each host, named after the oldest Ingress", () =>
    assert.deepEqual(
      shown(
        named("young", 2, { rules: [rule("/young", "a.example"), { host: "no.example" }] }),
        named("old", 1, { rules: [rule("/o", "a.example"), rule("/", "b.example")] }),
      ),
      [
        `a-example-old-${suffix} a.example@first ${gatewayOf("old")}: /young /o`,
        `b-example-old-${suffix} b.example@first ${gatewayOf("old")}: /`,
      ],
    ));
  it("have the default back end behind their paths for any host", () => {
    const defaultBackend = web;
    assert.deepEqual(shown(named("i", 1, { defaultBackend, rules: [rule("/a")] })), [
      `*-i-${suffix} *@first ${gatewayOf("i")}: /a all`,
    ]);
    assert.deepEqual(shown(named("i", 1, { defaultBackend })), [`*-i-${suffix} *@last ${gatewayOf("i")}: all`]);
  });
  it("have one default back end, and none where a path matches everything", () => {
    const defaultBackend = web;
    const expected = [`*-a-${suffix} *@last ${gatewayOf("a")}: all`];
    assert.deepEqual(shown(named("b", 2, { defaultBackend }), named("a", 1, { defaultBackend })), expected);
    assert.deepEqual(shown(named("i", 1, { defaultBackend, rules: [rule("/", "")] })), [
      `*-i-${suffix} *@first ${gatewayOf("i")}: /`,
    ]);
  });
});

it("a path is as long as its text, and nothing else is a path", () => {
  const of = (matchType: object) => pathLength({ matchType } as Parameters<typeof pathLength>[0]);
  assert.deepEqual(of({ case: "exact", value: "/ab" }), { length: 3, isExact: true });
  assert.deepEqual(of({ case: "prefix", value: "/ab" }), { length: 3, isExact: false });
  assert.deepEqual(of({ case: "regex", value: "/ab" }), { length: -1, isExact: false });
  assert.deepEqual(pathLength(undefined), { length: -1, isExact: false });
});
