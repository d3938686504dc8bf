/** Each reason why a node proxy gets no certificate for another identity, one condition broken at a time. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubernetesInfo } from "../authenticator.ts";
import { type ImpersonationRules, impersonationRefusal, type NodePod } from "./impersonation.ts";

const node: NodePod = { name: "z1", namespace: "istio-system", uid: "u1", serviceAccount: "ztunnel", nodeName: "n1" };
const caller: KubernetesInfo = { namespace: "istio-system", serviceAccount: "ztunnel", podName: "z1", podUid: "u1" };
const requested = "spiffe://td/ns/shop/sa/web";

function rules(pod: NodePod | undefined = node, more: Partial<ImpersonationRules> = {}): ImpersonationRules {
  return {
    clusterId: "c1",
    trustedAccounts: ["istio-system/ztunnel"],
    trustDomains: () => ["td"],
    pods: {
      podOf: (cluster, namespace, name) =>
        pod !== undefined && cluster === "c1" && namespace === pod.namespace && name === pod.name ? pod : undefined,
      runsOn: (...asked) => asked.join("/") === "c1/n1/shop/web",
    },
    ...more,
  };
}

const refused: readonly {
  readonly name: string;
  readonly caller?: KubernetesInfo | undefined;
  readonly requested?: unknown;
  readonly rules?: ImpersonationRules;
  readonly reason: RegExp;
}[] = [
  { name: "an identity that is no text", requested: [requested], reason: /is not a text/ },
  { name: "a caller outside Kubernetes", caller: undefined, reason: /not bound to a pod/ },
  { name: "a token without a pod's name", caller: without("podName"), reason: /not bound to a pod/ },
  { name: "a token without a pod's UID", caller: without("podUid"), reason: /not bound to a pod/ },
  {
    name: "an account that is not trusted",
    caller: { ...caller, serviceAccount: "web" },
    reason: /istio-system\/web is not a trusted node account/,
  },
  {
    name: "a trusted account's name in another namespace",
    caller: { ...caller, namespace: "shop" },
    reason: /shop\/ztunnel is not a trusted node account/,
  },
  { name: "an empty list of trusted accounts", rules: rules(node, { trustedAccounts: [] }), reason: /not a trusted/ },
  { name: "a text that is no identity", requested: "web", reason: /not an identity of this mesh/ },
  { name: "another mesh", requested: "spiffe://other/ns/shop/sa/web", reason: /not an identity of this mesh/ },
  { name: "a pod of another cluster", caller: { ...caller, cluster: "c2" }, reason: /not found in cluster c2/ },
  { name: "a pod that is gone", caller: { ...caller, podName: "z0" }, reason: /z0 is not found in cluster c1/ },
  { name: "a pod of the same name made since", caller: { ...caller, podUid: "u0" }, reason: /has the UID u1/ },
  {
    name: "a pod that runs as another account",
    rules: rules({ ...node, serviceAccount: "web" }),
    reason: /runs as web/,
  },
  { name: "a pod without a node", rules: rules({ ...node, nodeName: "" }), reason: /has no node/ },
  { name: "a pod of another node", rules: rules({ ...node, nodeName: "n2" }), reason: /runs on node n2/ },
  { name: "an account without a pod there", requested: "spiffe://td/ns/shop/sa/db", reason: /no pod of shop\/db/ },
];

describe("impersonation", () => {
  it("is granted for an account that runs on the caller's node", () => {
    assert.equal(impersonationRefusal(caller, requested, rules()), undefined);
    assert.equal(
      impersonationRefusal({ ...caller, cluster: "c1" }, requested, rules(node, { clusterId: "c9" })),
      undefined,
    );
  });
  for (const { name, reason, ...broken } of refused)
    it(`is refused for ${name}`, () => {
      const asked = { caller, requested, rules: rules(), ...broken };
      assert.match(impersonationRefusal(asked.caller, asked.requested, asked.rules) ?? "granted", reason);
    });
});

function without(field: "podName" | "podUid"): KubernetesInfo {
  const { [field]: _, ...rest } = caller;
  return rest;
}
