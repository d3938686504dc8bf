/** Rules of a policy as lists of fields, and policies as the rules of a filter. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@flotilla/proto";
import { RBAC_Action } from "@flotilla/proto/envoy/config/rbac/v3/rbac_pb";
import { AuthorizationPolicySchema, RuleSchema } from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import { rbacRules } from "./rbac.ts";
import { type Field, ruleFields } from "./rule.ts";

const text = (lists: readonly (readonly Field[])[]): readonly string[] =>
  lists.map((fields) =>
    fields
      .map(({ key, values, notValues }) => `${key}=${values.join()}${notValues.map((v) => `!${v}`).join()}`)
      .join(" "),
  );

const read = (rule: Parameters<typeof create<typeof RuleSchema>>[1]) => {
  const { operations, sources } = ruleFields(create(RuleSchema, rule));
  return { operations: text(operations), sources: text(sources) };
};

describe("a rule's fields", () => {
  it("are those that ask for something", () => {
    const operation = {
      hosts: ["h"],
      notHosts: ["i"],
      methods: ["GET"],
      notMethods: ["PUT"],
      notPaths: ["/a"],
      ports: ["80"],
    };
    assert.deepEqual(read({ to: [{ operation }] }), {
      operations: ["hosts=h!i methods=GET!PUT paths=!/a destination.port=80"],
      sources: [""],
    });
    const source = { principals: ["p"], notRequestPrincipals: ["r"], serviceAccounts: ["s"], namespaces: ["n"] };
    const blocks = { trustDomains: ["t"], remoteIpBlocks: ["1.1.1.1"], notIpBlocks: ["2.2.2.2"] };
    assert.deepEqual(read({ from: [{ source: { ...source, ...blocks } }] }).sources, [
      "source.principal=p request.auth.principal=!r serviceAccounts=s source.trustDomain=t source.namespace=n remote.ip=1.1.1.1 source.ip=!2.2.2.2",
    ]);
  });
  it("are one list for each alternative, conditions in all of them, each on its side", () => {
    const keys = ["destination.port", "experimental.envoy.filters.a[b]", "destination.ip", "connection.sni"];
    const when = [...keys, "source.ip", "request.headers[a]"].map((key) => ({ key, values: ["v"] }));
    const from = [{ source: { namespaces: ["a"] } }, { source: { namespaces: ["b"] } }];
    const asked = keys.map((key) => `${key}=v`).join(" ");
    assert.deepEqual(read({ from, to: [{ operation: { methods: ["GET"] } }], when }), {
      operations: [`methods=GET ${asked}`],
      sources: [
        "source.namespace=a source.ip=v request.headers[a]=v",
        "source.namespace=b source.ip=v request.headers[a]=v",
      ],
    });
    assert.deepEqual(read({ when: when.slice(0, 1) }), { operations: ["destination.port=v"], sources: [""] });
  });
  it("of alternatives without a source or an operation are none", () =>
    assert.deepEqual(read({ from: [{}], to: [{}] }), { operations: [""], sources: [""] }));
});

describe("rules of a filter", () => {
  const policy = (name: string, ...rules: Parameters<typeof read>[0][]) => ({
    key: { kind: "AuthorizationPolicy", namespace: "shop", name },
    ...{ generation: 1, labels: {}, annotations: {}, creationTimeMs: 0 },
    spec: create(AuthorizationPolicySchema, { rules: rules.map((rule) => create(RuleSchema, rule)) }),
  });
  const rulesOf = (policies: readonly unknown[], more: Partial<Parameters<typeof rbacRules>[0]> = {}) =>
    rbacRules({
      ...{ policies: policies as Parameters<typeof rbacRules>[0]["policies"], action: RBAC_Action.ALLOW, tcp: false },
      ...{ trustDomains: [], ...more },
    });

  it("are named after policy and index, in order of names", () => {
    const { policies, action } = rulesOf([policy("b", {}, {}), policy("a", {})]);
    assert.deepEqual(Object.keys(policies), [
      "ns[shop]-policy[a]-rule[0]",
      "ns[shop]-policy[b]-rule[0]",
      "ns[shop]-policy[b]-rule[1]",
    ]);
    assert.equal(action, RBAC_Action.ALLOW);
    const around = rulesOf([policy("a", {})], { prefix: "x-", suffix: "-y" });
    assert.deepEqual(Object.keys(around.policies), ["x-ns[shop]-policy[a]-rule[0]-y"]);
  });
  it("of a policy without rules match nothing, of an empty rule everything", () => {
    const only = (rules: ReturnType<typeof rulesOf>) => Object.values(rules.policies)[0];
    const never = only(rulesOf([policy("a")]));
    assert.equal(never?.permissions[0]?.rule.case, "notRule");
    assert.equal(never?.principals[0]?.identifier.case, "notId");
    const always = only(rulesOf([policy("a", {})]));
    assert.equal(always?.permissions[0]?.rule.case, "andRules");
    assert.equal(always?.principals[0]?.identifier.case, "andIds");
  });
  it("that ask for requests are left out of ALLOW on bytes, and widened in DENY", () => {
    const rules = [{ to: [{ operation: { methods: ["GET"] } }] }, { to: [{ operation: { ports: ["80"] } }] }];
    const names = (action: RBAC_Action) =>
      Object.keys(rulesOf([policy("a", ...rules)], { tcp: true, action }).policies);
    assert.deepEqual(names(RBAC_Action.ALLOW), ["ns[shop]-policy[a]-rule[1]"]);
    assert.deepEqual(names(RBAC_Action.DENY), ["ns[shop]-policy[a]-rule[0]", "ns[shop]-policy[a]-rule[1]"]);
  });
});
