import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, anEndpoint, aService, aSidecar, resourceOf } from "../../../../testing/mesh.ts";

/** The inbound listener of a workload on HTTP with one policy, as text. */
function inbound(spec: JsonObject, annotations: Readonly<Record<string, string>> = {}): string {
  const jwt = { jwtRules: [{ issuer: "a@example.com", jwks: '{"keys":[]}' }] };
  const core = aMesh(aService("web", "shop"), aConfig("RequestAuthentication", "shop", "tokens", jwt), {
    ...aConfig("AuthorizationPolicy", "shop", "p", spec),
    annotations,
  });
  const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", hostname: "web.shop.svc.cluster.local" };
  assert.deepEqual(core.apply([{ type: "endpoints", op: "put", key, value: [anEndpoint("10.0.0.1")] }]), []);
  return JSON.stringify(resourceOf(core, aSidecar("shop"), typeUrl.listener, "virtualInbound"));
}

test("external authorizers are asked before tokens are checked, policies decide afterwards", () => {
  const order = (spec: JsonObject) =>
    [...inbound(spec).matchAll(/"name":"envoy\.filters\.http\.(rbac|jwt_authn)"/g)].slice(0, 2).map(([, name]) => name);
  assert.deepEqual(order({ action: "CUSTOM", provider: { name: "unknown" }, rules: [{}] }), ["rbac", "jwt_authn"]);
  assert.deepEqual(order({ action: "DENY", rules: [{}] }), ["jwt_authn", "rbac"]);
});

test("a rule that lets in by requests in one of its alternatives lets no connection in", () => {
  const from = [{ source: { namespaces: ["a"] } }, { source: { requestPrincipals: ["*"] } }];
  const text = inbound({ action: "ALLOW", rules: [{ from }, { from: from.slice(0, 1) }] });
  const network = /"name":"envoy\.filters\.network\.rbac".*?"statPrefix":"tcp\."/.exec(text)?.[0] ?? "";
  assert.ok(!network.includes("rule[0]"));
  assert.ok(network.includes("rule[1]"));
});

test("policies on trial count under the name of what they would do, and decide nothing", () => {
  const onTrial = { "istio.io/dry-run": "true" };
  const prefixOf = (action: string, annotations: Readonly<Record<string, string>>) =>
    /"shadowRulesStatPrefix":"istio_dry_run_(allow|deny)_/.exec(inbound({ action, rules: [{}] }, annotations))?.[1];
  assert.deepEqual(
    [
      ...[prefixOf("DENY", onTrial), prefixOf("DENY", {}), prefixOf("ALLOW", onTrial)],
      ...[prefixOf("AUDIT", onTrial), prefixOf("AUDIT", {})],
    ],
    ["deny", "allow", "allow", undefined, "allow"],
  );
  for (const [annotations, decides] of [
    [onTrial, false],
    [{ "istio.io/dry-run": "false" }, true],
  ] as const) {
    const text = inbound({ action: "DENY", rules: [{}] }, annotations);
    assert.equal(text.includes('"rules":{"action":"DENY"'), decides);
    assert.equal(text.includes('"shadowRules":{"action":"DENY"'), !decides);
  }
});
