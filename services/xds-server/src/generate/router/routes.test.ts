import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aRouter, aService, resourceOf } from "../../testing/mesh.ts";

const services = [aService("web", "shop"), aService("blog", "pages")];

function gateway(name: string, servers: readonly JsonObject[]): Config {
  return aConfig("Gateway", "istio-system", name, { servers: [...servers] });
}

const http = (hosts: readonly string[], more: JsonObject = {}): JsonObject => ({
  port: { number: 80, name: "http", protocol: "HTTP" },
  hosts: [...hosts],
  ...more,
});

const https = (hosts: readonly string[]): JsonObject => ({
  port: { number: 443, name: "https", protocol: "HTTPS" },
  hosts: [...hosts],
  tls: { mode: "SIMPLE", credentialName: "cert" },
});

/** Leads to a service of its own namespace. */
function virtualService(name: string, hosts: readonly string[], http: readonly JsonObject[] = [{}]): Config {
  const [namespace = "", plain = ""] = name.split("/");
  return aConfig("VirtualService", namespace, plain, {
    hosts: [...hosts],
    gateways: ["istio-system/g", "istio-system/h"],
    http: http.map((one) => ({ route: [{ destination: { host: namespace === "shop" ? "web" : "blog" } }], ...one })),
  });
}

interface Host {
  readonly domains: readonly string[];
  readonly requireTls?: string;
  readonly routes?: readonly { readonly name?: string; readonly route?: { readonly cluster: string } }[];
}

/** Each virtual host as `domains: routes`, the routes by name or by service. */
function hostsOf(name: string, objects: readonly Config[]): readonly string[] | undefined {
  const found = resourceOf(aMesh(...services, ...objects), aRouter("istio-system"), typeUrl.route, name);
  const hosts = found?.["virtualHosts"] as readonly Host[] | undefined;
  return hosts?.map(({ domains, routes = [], requireTls }) => {
    const texts = routes.map((route) => route.name ?? route.route?.cluster.split("|")[3]?.split(".")[0] ?? "redirect");
    return `${domains.join(" ")}: ${[...texts, ...(requireTls === undefined ? [] : ["to TLS"])].join(" ")}`;
  });
}

const cases: readonly {
  readonly name: string;
  readonly of?: string;
  readonly objects: readonly Config[];
  readonly want: readonly string[] | undefined;
}[] = [
  {
    name: "hosts that server and VirtualService share, the narrower of two that overlap",
    objects: [
      gateway("g", [http(["*.example", "exact.org"])]),
      virtualService("shop/a", ["a.example", "*.org", "b.net"]),
    ],
    want: ["a.example exact.org: web"],
  },
  {
    name: "hosts of a namespace for VirtualServices of this one only",
    objects: [
      gateway("g", [http(["shop/a.example", "pages/b.example"])]),
      virtualService("shop/a", ["a.example", "b.example"]),
      virtualService("pages/b", ["a.example", "b.example"]),
    ],
    want: ["a.example: web", "b.example: blog"],
  },
  {
    name: "routes of several VirtualServices on one host, those that take everything last",
    objects: [
      gateway("g", [http(["a.example"])]),
      virtualService("shop/first@1", ["a.example"]),
      virtualService("pages/second@2", ["a.example"], [{ name: "prefix", match: [{ uri: { prefix: "/b" } }] }]),
    ],
    want: ["a.example: prefix web"],
  },
  {
    name: "routes once more for each server that has the host",
    objects: [
      gateway("g@1", [http(["a.example"])]),
      gateway("h@2", [http(["a.example"])]),
      virtualService(
        "shop/a",
        ["a.example"],
        [{ name: "of-h", match: [{ gateways: ["istio-system/h"], uri: { prefix: "/h" } }] }, {}],
      ),
    ],
    want: ["a.example: of-h web web"],
  },
  {
    name: "a redirect to HTTPS, whether or not a VirtualService has the host; that of a namespace stands as it is written",
    objects: [
      gateway("g", [http(["a.example", "shop/*.b.example"], { tls: { httpsRedirect: true } })]),
      virtualService("shop/a", ["a.example"]),
    ],
    want: ["a.example: web to TLS", "shop/*.b.example: to TLS"],
  },
  { name: "404 where nothing is routed", objects: [gateway("g", [http(["a.example"])])], want: ["*: "] },
  {
    name: "no route for another port",
    objects: [
      gateway("g", [http(["a.example"])]),
      virtualService("shop/a", ["a.example"], [{ match: [{ port: 443, uri: { prefix: "/" } }] }]),
    ],
    want: ["*: "],
  },
  {
    name: "each HTTPS server by itself",
    of: "https.443.https.h.istio-system",
    objects: [
      gateway("g@1", [https(["a.example"])]),
      gateway("h@2", [https(["b.example"])]),
      virtualService("shop/a", ["a.example", "b.example"]),
    ],
    want: ["b.example: web"],
  },
  {
    name: "nothing that no server has",
    of: "http.81",
    objects: [gateway("g", [http(["a.example"])])],
    want: undefined,
  },
];

describe("a route configuration of a router has", () => {
  for (const { name, of = "http.80", objects, want } of cases)
    it(name, () => assert.deepEqual(hostsOf(of, objects), want));
});
