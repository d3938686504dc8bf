import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { impersonationRefusal, type KubernetesInfo } from "@flotilla/auth";
import type { San } from "@flotilla/pki";
import { PodTable } from "./pod-table.ts";
import { grantedNames, servingNames } from "./serving-names.ts";

const rules = {
  namespace: "istio-system",
  domain: "cluster.local",
  revision: "canary",
  customHosts: ["mesh.example.test"],
  serverAccounts: ["flotilla-nats"],
  accounts: ["flotilla-xds-server"],
  trustDomains: () => ["cluster.local"],
};
const xds = "spiffe://cluster.local/ns/istio-system/sa/flotilla-xds-server";
const nats = xds.replace("flotilla-xds-server", "flotilla-nats");
const dns = (value: string): San => ({ type: "dns", value });

describe("serving names", () => {
  const cases: readonly (readonly [string, string, readonly San[], readonly string[] | RegExp])[] = [
    [
      "its own names",
      xds,
      [dns("istiod.istio-system.svc"), dns("localhost")],
      ["istiod.istio-system.svc", "localhost"],
    ],
    [
      "with the domain",
      xds,
      [dns("istiod-remote.istio-system.svc.cluster.local")],
      ["istiod-remote.istio-system.svc.cluster.local"],
    ],
    ["its revision", xds, [dns("istiod-canary.istio-system.svc")], ["istiod-canary.istio-system.svc"]],
    ["the custom host", xds, [dns("mesh.example.test")], ["mesh.example.test"]],
    ["its URI in the request is not needed", xds, [{ type: "uri", value: "spiffe://x/ns/y/sa/z" }], []],
    ["a foreign name", xds, [dns("reviews.shop.svc")], /reviews\.shop\.svc/],
    ["another revision", xds, [dns("istiod-old.istio-system.svc")], /istiod-old/],
    ["another namespace's istiod", xds, [dns("istiod.other.svc")], /istiod\.other/],
    ["a wildcard", xds, [dns("*.istio-system.svc")], /\*/],
    ["an address", xds, [{ type: "ip", value: "127.0.0.1" }], /ip name/],
    ["a name with capitals", xds, [dns("ISTIOD.istio-system.svc")], /ISTIOD/],
    [
      "a gateway in the same namespace gets none",
      xds.replace("flotilla-xds-server", "gateway"),
      [dns("istiod.istio-system.svc")],
      [],
    ],
    [
      "the account of another namespace gets none",
      xds.replace("istio-system", "shop"),
      [dns("istiod.istio-system.svc")],
      [],
    ],
    [
      "the account of another trust domain gets none",
      xds.replace("cluster.local", "other"),
      [dns("istiod.istio-system.svc")],
      [],
    ],
    [
      "a server gets its Service and the pods of it",
      nats,
      [dns("flotilla-nats.istio-system.svc"), dns("flotilla-nats-0.flotilla-nats.istio-system.svc.cluster.local")],
      ["flotilla-nats.istio-system.svc", "flotilla-nats-0.flotilla-nats.istio-system.svc.cluster.local"],
    ],
    ["a pod of another Service", nats, [dns("flotilla-redis-0.flotilla-redis.istio-system.svc")], /flotilla-redis-0/],
    ["no pod's name", nats, [dns("flotilla-nats-x.flotilla-nats.istio-system.svc")], /flotilla-nats-x/],
    ["a pod of another namespace", nats, [dns("flotilla-nats-0.flotilla-nats.shop.svc")], /shop/],
    ["the names of the control plane are not a server's", nats, [dns("istiod.istio-system.svc")], /istiod/],
    ["a workload's requests are ignored", "spiffe://cluster.local/ns/a/sa/b", [dns("reviews.shop.svc")], []],
  ];
  for (const [name, identity, asked, expected] of cases) {
    it(name, () => {
      if (expected instanceof RegExp) assert.throws(() => grantedNames(identity, asked, rules), expected);
      else
        assert.deepEqual(
          grantedNames(identity, asked, rules).map(({ value }) => value),
          expected,
        );
    });
  }
  it("the default revision has no name of its own", () =>
    assert.ok(!servingNames({ ...rules, revision: "default" }).some((name) => name.includes("default"))));
});

describe("impersonation", () => {
  const pods = new PodTable();
  const pod = (name: string, namespace: string, serviceAccount: string, nodeName: string) => ({
    name,
    namespace,
    serviceAccount,
    nodeName,
    uid: `uid-${name}`,
  });
  pods.put("c1", pod("zt", "istio-system", "ztunnel", "n1"));
  pods.put("c1", pod("a", "shop", "a", "n1"));
  pods.put("c1", pod("b", "shop", "b", "n2"));
  pods.put("c2", pod("zt", "istio-system", "ztunnel", "n1"));
  pods.put("c2", pod("c", "shop", "c", "n1"));
  pods.put("gone", pod("zt", "istio-system", "ztunnel", "n1"));
  pods.put("gone", pod("a", "shop", "a", "n1"));
  pods.removeCluster("gone");
  pods.put("c1", pod("moved", "shop", "m", "n1"));
  pods.put("c1", pod("moved", "shop", "m", "n2"));

  const caller: KubernetesInfo = {
    cluster: "c1",
    namespace: "istio-system",
    serviceAccount: "ztunnel",
    podName: "zt",
    podUid: "uid-zt",
  };
  const spiffe = (account: string) => `spiffe://cluster.local/ns/shop/sa/${account}`;
  const cases: readonly (readonly [string, KubernetesInfo | undefined, unknown, RegExp | undefined])[] = [
    ["a pod of its node", caller, spiffe("a"), undefined],
    ["a pod of its node in its own cluster", { ...caller, cluster: "c2" }, spiffe("c"), undefined],
    ["the caller's own cluster when none is named", { ...caller, cluster: undefined } as never, spiffe("a"), undefined],
    ["a pod of another node", caller, spiffe("b"), /no pod of shop\/b/],
    ["a pod of a node of the same name elsewhere", caller, spiffe("c"), /no pod of shop\/c/],
    ["a pod that has moved away", caller, spiffe("m"), /no pod of shop\/m/],
    ["no pod at all", caller, spiffe("x"), /no pod of/],
    ["a token that is not bound to a pod", { ...caller, podName: undefined } as never, spiffe("a"), /not bound/],
    ["no Kubernetes token", undefined, spiffe("a"), /not bound/],
    [
      "an account that is not trusted",
      { ...caller, namespace: "shop", serviceAccount: "a" },
      spiffe("a"),
      /not a trusted/,
    ],
    ["the UID of an earlier pod", { ...caller, podUid: "old" }, spiffe("a"), /UID/],
    ["a pod that does not exist", { ...caller, podName: "zt2" }, spiffe("a"), /not found/],
    ["a cluster that was removed", { ...caller, cluster: "gone" }, spiffe("a"), /not found/],
    ["not an identity", caller, "admin", /not an identity/],
    ["not a text", caller, { toString: "admin" }, /not a text/],
    ["another trust domain", caller, "spiffe://other/ns/shop/sa/a", /not an identity of this mesh/],
  ];
  for (const [name, who, requested, reason] of cases) {
    it(name, () => {
      const rulesOf = {
        clusterId: "c1",
        trustedAccounts: ["istio-system/ztunnel"],
        trustDomains: () => ["cluster.local"],
        pods,
      };
      const refusal = impersonationRefusal(who, requested, rulesOf);
      if (reason === undefined) assert.equal(refusal, undefined);
      else assert.match(refusal ?? "", reason);
    });
  }
});
