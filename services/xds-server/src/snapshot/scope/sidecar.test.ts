/** The Sidecar that applies to a proxy, the imports of its listeners, and the destination of traffic for unknown hosts. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, fromJson, type JsonObject } from "@flotilla/proto";
import { IstioEgressListenerSchema } from "@flotilla/proto/networking/v1alpha3/sidecar_pb";
import { aKubeMesh, anObject } from "../../testing/kube-mesh.ts";
import { aConfig, aMesh, aRouter, aSidecar } from "../../testing/mesh.ts";
import { query } from "../view.ts";
import {
  egressListeners,
  fallbackCluster,
  listenerHosts,
  listenerOf,
  listenerPort,
  proxyEgressListeners,
  scopeName,
  sidecarOf,
} from "./sidecar.ts";

const everything = { egress: [{ hosts: ["*/*"] }] };
const forWeb = { workloadSelector: { labels: { app: "web" } }, ...everything };

const choices: readonly {
  readonly name: string;
  readonly sidecars: Readonly<Record<string, JsonObject>>;
  readonly want: string;
}[] = [
  { name: "none where there is none", sidecars: {}, want: "" },
  { name: "the root namespace's", sidecars: { "istio-system/mesh": everything }, want: "istio-system/mesh" },
  {
    name: "the namespace's before the root namespace's",
    sidecars: { "istio-system/mesh": everything, "shop/all": everything },
    want: "shop/all",
  },
  {
    name: "one that selects the workload first",
    sidecars: { "shop/all": everything, "shop/web": forWeb },
    want: "shop/web",
  },
  {
    name: "one that selects others does not count",
    sidecars: { "shop/other": { ...everything, workloadSelector: { labels: { app: "other" } } } },
    want: "",
  },
  {
    name: "one of the root namespace that selects workloads does not count",
    sidecars: { "istio-system/web": forWeb },
    want: "",
  },
];

function meshOf(sidecars: Readonly<Record<string, JsonObject>>) {
  return aMesh(
    ...Object.entries(sidecars).map(([path, spec]) => {
      const [namespace = "", name = ""] = path.split("/");
      return aConfig("Sidecar", namespace, name, spec);
    }),
  );
}

const web = aSidecar("shop", { LABELS: { app: "web" } });

describe("the Sidecar of a proxy", () => {
  for (const { name, sidecars, want } of choices)
    it(name, () => {
      const core = meshOf(sidecars);
      const found = core.read(sidecarOf, core.subjectOf(web))?.key;
      assert.equal(found === undefined ? "" : `${found.namespace}/${found.name}`, want);
    });

  it("gateways have none", () => {
    const core = meshOf({ "istio-system/mesh": everything });
    assert.equal(core.read(sidecarOf, core.subjectOf(aRouter("istio-system"))), undefined);
  });

  it("names its scope and its listeners, which lead back to it", () => {
    const hosts = query("test-hosts", (view) => {
      const scope = view.read(scopeName);
      assert.deepEqual(egressListeners(view, scope), proxyEgressListeners(view));
      return proxyEgressListeners(view).map(({ name }) => {
        const { namespace, isOfRouter, spec } = listenerOf(view, name);
        return `${namespace} ${isOfRouter} ${spec?.hosts.join()}`;
      });
    });
    const core = meshOf({
      "shop/all": {
        egress: [{ port: { number: 80, protocol: "HTTP", name: "a" }, hosts: ["./*"] }, { hosts: ["a/*"] }],
      },
    });
    assert.deepEqual(core.read(hosts, core.subjectOf(web)), ["shop false ./*", "shop false a/*"]);
    assert.deepEqual(core.read(hosts, core.subjectOf(aSidecar("other"))), ["other false */*"]);
    assert.deepEqual(core.read(hosts, core.subjectOf(aRouter("edge"))), ["edge true */*"]);
  });
});

const listener = (json: JsonObject) => fromJson(IstioEgressListenerSchema, json);

describe("an egress listener", () => {
  it("imports hosts by namespace, its own by a dot; other texts are left out", () => {
    const hosts = ["./a.shop", "other/*", "*/b.example", "./c.shop", "nonsense", "a/b/c"];
    const { importedFrom } = listenerHosts(create(IstioEgressListenerSchema, { hosts }), "shop");
    assert.deepEqual(importedFrom("shop"), ["a.shop", "c.shop", "b.example"]);
    assert.deepEqual(importedFrom("other"), ["*", "b.example"]);
    assert.deepEqual(importedFrom("third"), ["b.example"]);
  });

  it("imports a host beside others of its namespace, else beside those of any", () => {
    const hosts = ["shop/a.shop", "shop/*.c", "*/a.depot", "*/*.d"];
    const { importedBeside } = listenerHosts(create(IstioEgressListenerSchema, { hosts }), "shop");
    assert.deepEqual(importedBeside("shop", "a.shop"), ["a.shop", "*.c"]);
    assert.deepEqual(importedBeside("shop", "a.depot"), ["a.depot", "*.d"]);
    assert.deepEqual(importedBeside("depot", "a.shop"), []);
  });

  it("is exact where it names each host, whatever it excludes", () => {
    const isExact = (...hosts: string[]) => listenerHosts(create(IstioEgressListenerSchema, { hosts }), "shop").isExact;
    assert.ok(isExact("./a.shop", "depot/b", "~*/*"));
    for (const host of ["*/a.shop", "./*.shop", "./*"]) assert.ok(!isExact("./a.shop", host), host);
  });

  it("excludes hosts after a tilde, of any namespace where none is named", () => {
    const hosts = ["*/*", "~./a.shop", "~other/*.b.example", "~/c.example"];
    const { isExcluded, importedFrom } = listenerHosts(create(IstioEgressListenerSchema, { hosts }), "shop");
    assert.deepEqual(importedFrom("shop"), ["*"]);
    const found = ["shop/a.shop", "other/a.shop", "other/x.b.example", "shop/x.b.example", "third/c.example"].filter(
      (text) => isExcluded(text.slice(0, text.indexOf("/")), text.slice(text.indexOf("/") + 1)),
    );
    assert.deepEqual(found, ["shop/a.shop", "other/x.b.example", "third/c.example"]);
  });

  const ports: readonly (readonly [string, JsonObject, number | undefined])[] = [
    ["without a port takes all", {}, undefined],
    ["of a socket takes all", { port: { number: 0, protocol: "HTTP", name: "a" }, bind: "unix:///a" }, undefined],
    ["takes its own port", { port: { number: 80, protocol: "HTTP", name: "a" } }, 80],
    ["of a forward proxy takes all", { port: { number: 3128, protocol: "HTTP_PROXY", name: "a" } }, undefined],
  ];
  for (const [name, json, want] of ports) it(name, () => assert.equal(listenerPort(listener(json)), want));
});

describe("traffic for hosts that are not in scope", () => {
  const proxyOf = { host: "egress.shop.svc.cluster.local", subset: "v1", port: { number: 80 } };
  const cases: readonly {
    readonly name: string;
    readonly mesh?: string;
    readonly own?: JsonObject;
    readonly want: string;
  }[] = [
    { name: "passes by default", want: "PassthroughCluster" },
    { name: "is blocked where the mesh says so", mesh: "REGISTRY_ONLY", want: "BlackHoleCluster" },
    { name: "is resolved where the mesh says so", mesh: "ALLOW_ANY_DYNAMIC_DNS", want: "AllowAnyDynamicDNSCluster" },
    {
      name: "the Sidecar's policy wins",
      mesh: "REGISTRY_ONLY",
      own: { mode: "ALLOW_ANY" },
      want: "PassthroughCluster",
    },
    {
      name: "goes to the Sidecar's egress proxy",
      own: { mode: "ALLOW_ANY", egressProxy: proxyOf },
      want: "outbound|80|v1|egress.shop.svc.cluster.local",
    },
  ];
  for (const { name, mesh, own, want } of cases)
    it(name, () => {
      const objects = own === undefined ? [] : [anObject("Sidecar", "shop/all", { outboundTrafficPolicy: own })];
      const core = aKubeMesh(objects, { mesh: mesh === undefined ? {} : { outboundTrafficPolicy: { mode: mesh } } });
      assert.equal(core.read(fallbackCluster, core.subjectOf(web)), want);
    });
});
