/** Paths of Ingresses as routes: what each type matches, in which order, and for which back end. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { type IngressBackend, type IngressSpec, ingressVirtualServices } from "./ingress.ts";

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
