/** Secrets of the proxy's own cluster, else of the control plane's. Order and cases: istiod with two clusters. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Config, clusterObjectName } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { aConfig, aMesh, apply, aRouter, resourceOf } from "../../testing/mesh.ts";

type Data = Readonly<Record<string, string>>;
const encoded = (data: Data) => Object.fromEntries(Object.entries(data).map(([field, text]) => [field, btoa(text)]));
const secret = (name: string, data: Data, cluster?: string): Config =>
  aConfig("Secret", "shop", cluster === undefined ? name : clusterObjectName({ name, cluster }), {
    data: encoded(data),
  });
const pair = (text: string, more: Data = {}): Data => ({ "tls.crt": text, "tls.key": `key of ${text}`, ...more });
const roots = (text: string): Data => ({ "ca.crt": text });
const routerIn = (cluster: string) => aRouter("shop", { CLUSTER_ID: cluster });
const arn = "arn:aws:eks:eu-1:12:cluster/far";

/** The text of a resource's certificate or roots. */
function sent(core: ReturnType<typeof aMesh>, cluster: string, name: string): string | undefined {
  const { tlsCertificate, validationContext } =
    resourceOf(core, routerIn(cluster), typeUrl.secret, name) ?? ({} as JsonObject);
  const source =
    (tlsCertificate as JsonObject)?.["certificateChain"] ?? (validationContext as JsonObject)?.["trustedCa"];
  return source === undefined ? undefined : atob(String((source as JsonObject)["inlineBytes"]));
}

describe("a Secret that a proxy asks for", () => {
  const core = aMesh(
    secret("both", pair("own", roots("own roots"))),
    secret("both", pair("east", roots("east roots")), "east"),
    secret("both", pair("far"), arn),
    secret("own", pair("own", roots("own roots"))),
    secret("east", pair("east"), "east"),
    secret("half", pair("own")),
    secret("half", { "tls.crt": "east" }, "east"),
    secret("empty", pair("own", roots("own roots"))),
    secret("empty", { password: "x" }, "east"),
    secret("apart", pair("own", roots("own roots"))),
    secret("apart-cacert", { cacert: "own roots apart" }),
    secret("apart", pair("east", roots("east roots")), "east"),
    secret("hidden", pair("own", roots("own roots"))),
    secret("hidden", pair("east", roots("east roots")), "east"),
    secret("hidden-cacert", { other: "x" }, "east"),
    secret("beside", pair("own", roots("own roots"))),
    secret("beside-cacert", { cacert: "east roots apart" }, "east"),
  );
  const cases: readonly (readonly [what: string, cluster: string, name: string, sent: string | undefined])[] = [
    ["is that of its cluster", "east", "both", "east"],
    ["is that of its cluster, whatever characters its name has", arn, "both", "far"],
    ["is the control plane's for proxies there", "Kubernetes", "both", "own"],
    ["is the control plane's where its cluster has none", "east", "own", "own"],
    ["is the control plane's for other clusters", "west", "both", "own"],
    ["is not that of another cluster", "Kubernetes", "east", undefined],
    ["is the control plane's where that of its cluster lacks the key", "east", "half", "own"],
    ["is the control plane's where that of its cluster holds something else", "east", "empty", "own"],
    ["has the roots of its cluster", "east", "both-cacert", "east roots"],
    ["has the control plane's roots where those of its cluster are missing", arn, "both-cacert", "own roots"],
    [
      "has the roots of its cluster's pair before the control plane's own Secret of roots",
      "east",
      "apart-cacert",
      "east roots",
    ],
    [
      "has the control plane's roots where a Secret for them in its cluster has none",
      "east",
      "hidden-cacert",
      "own roots",
    ],
    ["has roots of its cluster beside a pair of the control plane's", "east", "beside-cacert", "east roots apart"],
    ["with roots of its cluster has the control plane's pair", "east", "beside", "own"],
  ];
  for (const [what, cluster, name, expected] of cases)
    it(what, () => assert.equal(sent(core, cluster, `kubernetes://${name}`), expected));
});

describe("a Secret that a Gateway of the control plane's cluster refers to", () => {
  it("is of that cluster, as ConfigMaps are", () => {
    const gateway = (name: string, credentialName: string) =>
      aConfig("Gateway", "shop", name, {
        selector: { app: "gateway" },
        servers: [
          {
            port: { number: 443, name: "tls", protocol: "HTTPS" },
            hosts: ["*"],
            tls: { mode: "SIMPLE", credentialName },
          },
        ],
      });
    const name = "kubernetes-gateway://shop/both";
    const core = aMesh(
      secret("both", pair("own")),
      secret("both", pair("east"), "east"),
      gateway("g", name),
      aConfig("ConfigMap", "shop", "roots", { data: roots("own roots") }),
      aConfig("ConfigMap", "shop", "roots%east", { data: roots("east roots") }),
    );
    const labelled = aRouter("shop", { CLUSTER_ID: "east", LABELS: { app: "gateway" } });
    assert.match(JSON.stringify(resourceOf(core, labelled, typeUrl.secret, name)), new RegExp(btoa("own")));
    assert.equal(sent(core, "east", "configmap://shop/roots"), "own roots");
  });
});

describe("proxies of several clusters", () => {
  const setOf = (core: ReturnType<typeof aMesh>, cluster: string) =>
    core.resources(core.subjectOf(routerIn(cluster)), typeUrl.secret, nameSet(["kubernetes://a", "kubernetes://b"]));

  it("share the set where no cluster has a Secret of its own, else those do whose clusters have none", () => {
    const core = aMesh(secret("a", pair("own")), secret("b", pair("own")));
    assert.equal(setOf(core, "east"), setOf(core, "Kubernetes"));
    apply(core, secret("a", pair("east"), "east"));
    assert.notEqual(setOf(core, "east"), setOf(core, "Kubernetes"));
    assert.equal(setOf(core, "west"), setOf(core, "Kubernetes"));
    const [east, own] = [setOf(core, "east"), setOf(core, "west")].map((set) => set?.byName.get("kubernetes://b"));
    assert.equal(east?.version, own?.version);
  });

  it("are sent what comes, changes and goes in their cluster, and nothing else", () => {
    const core = aMesh(secret("a", pair("own")));
    const stale: string[] = [];
    const names = nameSet(["kubernetes://a"]);
    const observe = (cluster: string) =>
      core.observe(core.subjectOf(routerIn(cluster)), typeUrl.secret, names, () => stale.push(cluster));
    const texts = () => ["east", "Kubernetes"].map((cluster) => sent(core, cluster, "kubernetes://a"));
    const ends = [observe("east"), observe("Kubernetes")];
    apply(core, secret("a", pair("east"), "east"));
    assert.deepEqual(texts(), ["east", "own"]);
    for (const one of ends) one?.release();
    const again = [observe("east"), observe("Kubernetes")];
    stale.length = 0;
    apply(core, secret("a", pair("east 2"), "east"));
    assert.deepEqual([stale, texts()], [["east"], ["east 2", "own"]]);
    for (const one of again) one?.release();
    core.apply([{ type: "config", op: "delete", key: { kind: "Secret", namespace: "shop", name: "a%east" } }]);
    assert.deepEqual(texts(), ["own", "own"]);
  });
});
