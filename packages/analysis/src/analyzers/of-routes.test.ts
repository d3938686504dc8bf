/** Findings of analyzers in routes: destinations, subsets, matches. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { aPod, aService, check, messagesOf, one } from "./analyzers.fixture.ts";

const to = (destination: object) => ({ route: [{ destination }] });
const routeTo = (destination: object, more: object = {}) =>
  one("VirtualService", "r", { hosts: ["x"], http: [to(destination)], ...more });
const at = "spec.http[0].route[0].destination";
const lost = (field: string) => [`ReferencedResourceNotFound r ${field}`];

check("route-destinations", [
  ["a service of one port", [routeTo({ host: "web" }), aService("web", [80])], []],
  ["no such service", [routeTo({ host: "web" })], lost(`${at}.host`)],
  [
    "one of another namespace",
    [routeTo({ host: "web" }), aService("web", [80], {}, { namespace: "bank" })],
    lost(`${at}.host`),
  ],
  [
    "several ports and none named",
    [routeTo({ host: "web" }), aService("web", [80, 81])],
    [`DestinationPortRequired r ${at}.host`],
  ],
  ["one of several ports", [routeTo({ host: "web", port: { number: 81 } }), aService("web", [80, 81])], []],
  [
    "a port that is not there",
    [routeTo({ host: "web", port: { number: 82 } }), aService("web", [80, 81])],
    lost(`${at}.port.number`),
  ],
  ["no ports", [routeTo({ host: "web", port: { number: 82 } }), aService("web", [])], lost(`${at}.port.number`)],
  [
    "a ServiceEntry",
    [
      routeTo({ host: "a.example.com", port: { number: 443 } }),
      one("ServiceEntry", "e", { hosts: ["a.example.com"], ports: [{ number: 443 }] }),
    ],
    [],
  ],
  [
    "a wildcard",
    [
      routeTo({ host: "a.example.com" }),
      one("ServiceEntry", "e", { hosts: ["*.example.com"], ports: [{ number: 443 }] }),
    ],
    [],
  ],
  [
    "a Service before a ServiceEntry of the same host",
    [
      routeTo({ host: "web", port: { number: 80 } }),
      one("ServiceEntry", "a", { hosts: ["web.shop.svc.cluster.local"], ports: [{ number: 443 }] }),
      aService("web", [80]),
    ],
    [],
  ],
  [
    "a ServiceEntry of its own namespace",
    [
      routeTo({ host: "a.example.com" }),
      one(
        "ServiceEntry",
        "e",
        { hosts: ["a.example.com"], exportTo: ["."], ports: [{ number: 443 }] },
        { namespace: "bank" },
      ),
    ],
    lost(`${at}.host`),
  ],
  [
    "a ServiceEntry of the namespace that the route is exported to",
    [
      routeTo({ host: "a.example.com" }, { exportTo: ["bank"] }),
      one("ServiceEntry", "e", { hosts: ["a.example.com"], exportTo: ["."] }, { namespace: "bank" }),
    ],
    [],
  ],
  [
    "a mirror",
    [routeTo({ host: "web" }, { http: [{ ...to({ host: "web" }), mirror: { host: "m" } }] }), aService("web", [80])],
    lost("spec.http[0].mirror.host"),
  ],
]);

it("a destination that is not there is named with what is near, and what ports there are", () => {
  assert.deepEqual(
    messagesOf("route-destinations", [routeTo({ host: "web", port: { number: 82 } }), aService("web", [80, 81])]),
    ["port web:82 does not exist: it has 80, 81"],
  );
});

const rule = (host: string, ...subsets: readonly string[]) =>
  one("DestinationRule", "d", { host, subsets: subsets.map((name) => ({ name })) });

check("route-subsets", [
  ["no subset", [routeTo({ host: "web" })], []],
  ["a subset by the short name", [routeTo({ host: "web", subset: "v1" }), rule("web", "v1", "v2")], []],
  [
    "a subset by the full name",
    [routeTo({ host: "web.shop.svc.cluster.local", subset: "v2" }), rule("web", "v1", "v2")],
    [],
  ],
  ["another subset", [routeTo({ host: "web", subset: "v3" }), rule("web", "v1")], lost(`${at}.subset`)],
  ["a subset of another host", [routeTo({ host: "web", subset: "v1" }), rule("api", "v1")], lost(`${at}.subset`)],
  ["no rule", [routeTo({ host: "web", subset: "v1" })], lost(`${at}.subset`)],
]);

const byLabels = (host: string, labels: Readonly<Record<string, string>>) =>
  one("DestinationRule", "d", { host, subsets: [{ name: "s", labels }] });
const anEntry = (spec: object) => one("ServiceEntry", "e", { hosts: ["ledger.example"], ...spec });
const listed = { endpoints: [{ address: "192.0.2.1", labels: { version: "v1" }, locality: "r/z", network: "n" }] };
const machine = (version: string, namespace = "shop") =>
  one("WorkloadEntry", "w", { address: "192.0.2.2", labels: { app: "ledger", version } }, { namespace });
const selecting = { workloadSelector: { labels: { app: "ledger" } } };
const none = ["SubsetWithoutPods d spec.subsets[0]"];

check("destination-rule-hosts", [
  ["a pod", [byLabels("web", { v: "1" }), aService("web", [80]), aPod("p", { v: "1" })], []],
  ["no pod", [byLabels("web", { v: "2" }), aService("web", [80]), aPod("p", { v: "1" })], none],
  ["an endpoint that is listed", [byLabels("ledger.example", { version: "v1" }), anEntry(listed)], []],
  ["no endpoint that is listed", [byLabels("ledger.example", { version: "v2" }), anEntry(listed)], none],
  [
    "the place of an endpoint that is listed",
    [
      byLabels("ledger.example", { "topology.kubernetes.io/zone": "z", "topology.istio.io/network": "n" }),
      anEntry(listed),
    ],
    [],
  ],
  ["a host without endpoints of its own", [byLabels("ledger.example", {}), anEntry({ resolution: "DNS" })], []],
  ["labels of such a host", [byLabels("ledger.example", { version: "v1" }), anEntry({ resolution: "DNS" })], none],
  ["a WorkloadEntry", [byLabels("ledger.example", { version: "v1" }), anEntry(selecting), machine("v1")], []],
  [
    "a WorkloadEntry with other labels",
    [byLabels("ledger.example", { version: "v1" }), anEntry(selecting), machine("v2")],
    none,
  ],
  [
    "a WorkloadEntry of another namespace",
    [byLabels("ledger.example", { version: "v1" }), anEntry(selecting), machine("v1", "bank")],
    none,
  ],
]);

check("gateway-subsets", [
  [
    "a gateway's route past the subsets of the mesh",
    [
      routeTo({ host: "web" }, { gateways: ["g"] }),
      one("VirtualService", "inner", { hosts: ["web"], http: [to({ host: "web", subset: "v1" })] }),
    ],
    [`IngressRouteRulesNotAffected r ${at}.host`],
  ],
  [
    "a route of the mesh",
    [
      routeTo({ host: "web" }),
      one("VirtualService", "inner", { hosts: ["web"], http: [to({ host: "web", subset: "v1" })] }),
    ],
    [],
  ],
  [
    "a route that chooses itself",
    [
      routeTo({ host: "web", subset: "v2" }, { gateways: ["g"] }),
      one("VirtualService", "inner", { hosts: ["web"], http: [to({ host: "web", subset: "v1" })] }),
    ],
    [],
  ],
  [
    "subsets of another host",
    [
      routeTo({ host: "web" }, { gateways: ["g"] }),
      one("VirtualService", "inner", { hosts: ["api"], http: [to({ host: "web", subset: "v1" })] }),
    ],
    [],
  ],
]);

const matching = (match: object, more: object = {}) =>
  one("VirtualService", "r", { hosts: ["web"], http: [{ match: [match] }], ...more });
const impossible = (field: string) => [`ImpossibleCondition r spec.http[0].match[0]${field}`];

check("impossible-matches", [
  ["a path", [matching({ uri: { exact: "/a" } })], []],
  ["a prefix", [matching({ uri: { prefix: "/" } })], []],
  ["an empty prefix", [matching({ uri: { prefix: "" } })], []],
  ["any path", [matching({ uri: { exact: "*" } })], []],
  ["a path without a slash", [matching({ uri: { exact: "a" } })], impossible(".uri.exact")],
  ["a prefix without a slash", [matching({ uri: { prefix: "a" } })], impossible(".uri.prefix")],
  ["a pattern", [matching({ uri: { regex: "a" } })], []],
  ["a method", [matching({ method: { exact: "GET" } })], []],
  ["a method in lower case", [matching({ method: { exact: "get" } })], impossible(".method.exact")],
  ["a scheme", [matching({ scheme: { exact: "https" } })], []],
  ["another scheme", [matching({ scheme: { exact: "ftp" } })], impossible(".scheme.exact")],
  [
    "a header that is excluded too",
    [matching({ headers: { a: { exact: "b" } }, withoutHeaders: { a: {} } })],
    impossible(".withoutHeaders[a]"),
  ],
  ["a header with one value excluded", [matching({ headers: { a: {} }, withoutHeaders: { a: { exact: "b" } } })], []],
  ["another header excluded", [matching({ headers: { a: {} }, withoutHeaders: { b: {} } })], []],
  ["a gateway of the route", [matching({ gateways: ["g"] }, { gateways: ["g", "mesh"] })], []],
  ["one of its gateways", [matching({ gateways: ["h", "g"] }, { gateways: ["g"] })], []],
  ["another gateway", [matching({ gateways: ["h"] }, { gateways: ["g"] })], impossible(".gateways")],
  ["the mesh by default", [matching({ gateways: ["mesh"] })], []],
  ["a gateway of a route of the mesh", [matching({ gateways: ["g"] })], impossible(".gateways")],
  ["a port of the service", [matching({ port: 80 }), aService("web", [80])], []],
  ["another port", [matching({ port: 81 }), aService("web", [80])], impossible(".port")],
  ["another port of a gateway's route", [matching({ port: 81 }, { gateways: ["g"] }), aService("web", [80])], []],
  [
    "another port of the mesh's route",
    [matching({ port: 81 }, { gateways: ["mesh"] }), aService("web", [80])],
    impossible(".port"),
  ],
  ["a port of a service that is not known", [matching({ port: 81 })], []],
  [
    "a port of one of two hosts",
    [matching({ port: 81 }, { hosts: ["web", "api"] }), aService("web", [80]), aService("api", [81])],
    [],
  ],
  [
    "a port where one host is not known",
    [matching({ port: 81 }, { hosts: ["web", "api"] }), aService("web", [80])],
    [],
  ],
]);

const pair = (earlier: object, later: object) => [
  one("VirtualService", "r", { hosts: ["web"], http: [{ match: [earlier] }, { match: [later] }] }),
];
const shadowed = ["ShadowedMatch r spec.http[1].match[0]"];

check("shadowed-matches", [
  ["all paths, then one header", pair({ uri: { prefix: "/" } }, { headers: { a: { exact: "b" } } }), shadowed],
  ["a prefix, then a path within", pair({ uri: { prefix: "/a" } }, { uri: { exact: "/a/b" } }), shadowed],
  ["a prefix, then another path", pair({ uri: { prefix: "/a" } }, { uri: { exact: "/b" } }), []],
  ["two prefixes, which validation compares", pair({ uri: { prefix: "/a" } }, { uri: { prefix: "/a/b" } }), []],
  ["equal matches, which validation compares", pair({ uri: { exact: "/a" } }, { uri: { exact: "/a" } }), []],
  [
    "a path with less asked for",
    pair({ uri: { exact: "/a" } }, { uri: { exact: "/a" }, method: { exact: "GET" } }),
    shadowed,
  ],
  [
    "a path with more asked for",
    pair({ uri: { exact: "/a" }, method: { exact: "GET" } }, { uri: { exact: "/a" } }),
    [],
  ],
  [
    "an equal pattern",
    pair({ uri: { regex: "/a.*" } }, { uri: { regex: "/a.*" }, method: { exact: "GET" } }),
    shadowed,
  ],
  ["another pattern", pair({ uri: { regex: "/a.*" } }, { uri: { regex: "/b.*" }, method: { exact: "GET" } }), []],
  ["any text", pair({ uri: { regex: ".*" } }, { uri: { exact: "/b" } }), shadowed],
  ["a path in any case", pair({ uri: { exact: "/a" } }, { uri: { exact: "/a" }, ignoreUriCase: true }), []],
  [
    "paths in any case",
    pair({ uri: { exact: "/a" }, ignoreUriCase: true }, { uri: { exact: "/a" }, ignoreUriCase: true, port: 80 }),
    shadowed,
  ],
  ["a header that is there", pair({ headers: { a: {} } }, { headers: { a: { exact: "b" } } }), shadowed],
  ["a header with another value", pair({ headers: { a: { exact: "c" } } }, { headers: { a: { exact: "b" } } }), []],
  ["another header", pair({ headers: { a: {} } }, { headers: { b: {} } }), []],
  [
    "a parameter",
    pair({ queryParams: { a: { exact: "b" } } }, { queryParams: { a: { exact: "b" }, c: {} } }),
    shadowed,
  ],
  ["a header that is excluded by one", pair({ withoutHeaders: { a: {} } }, { uri: { exact: "/a" } }), []],
  [
    "a header that is excluded by both",
    pair({ withoutHeaders: { a: {} } }, { uri: { exact: "/a" }, withoutHeaders: { a: {} } }),
    shadowed,
  ],
  ["one gateway of two", pair({ gateways: ["g", "h"] }, { gateways: ["g"], port: 80 }), shadowed],
  ["another gateway", pair({ gateways: ["g"] }, { gateways: ["g", "h"] }), []],
  ["all gateways", pair({ gateways: ["g"] }, { uri: { exact: "/a" } }), []],
  ["a port", pair({ port: 80 }, { port: 80, uri: { exact: "/a" } }), shadowed],
  ["another port", pair({ port: 80 }, { port: 81 }), []],
  ["a namespace", pair({ sourceNamespace: "a" }, { sourceNamespace: "a", port: 80 }), shadowed],
  ["another namespace", pair({ sourceNamespace: "a" }, { sourceNamespace: "b" }), []],
  ["labels", pair({ sourceLabels: { a: "b" } }, { sourceLabels: { a: "b", c: "d" } }), shadowed],
  ["other labels", pair({ sourceLabels: { a: "b" } }, { sourceLabels: { c: "d" } }), []],
]);
