import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config } from "@flotilla/model";
import { create, fromJson, type JsonObject, toJson } from "@flotilla/proto";
import { AuthorizationSchema } from "@flotilla/proto/istio/security/authorization_pb";
import {
  type AuthorizationPolicy,
  AuthorizationPolicySchema,
} from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import { translatePolicy } from "./authorization.ts";

function aPolicy(spec: JsonObject, namespace = "shop", annotations = {}): Config<AuthorizationPolicy> {
  const key = { kind: "AuthorizationPolicy", namespace, name: "p" };
  return { key, labels: {}, annotations, creationTimeMs: 0, spec: fromJson(AuthorizationPolicySchema, spec) };
}

function translated(policy: Config<AuthorizationPolicy>, sendsDryRun = false) {
  const { authorization, problem } = translatePolicy(policy, { rootNamespace: "istio-system", sendsDryRun });
  const json = authorization && (toJson(AuthorizationSchema, create(AuthorizationSchema, authorization)) as JsonObject);
  return {
    groups: json?.["groups"],
    scope: json?.["scope"],
    action: json?.["action"],
    isDryRun: json?.["dryRun"],
    isSent: json !== undefined,
    problem,
  };
}

const fromShop = { from: [{ source: { namespaces: ["shop"] } }] };
const shopMatch = { matches: [{ namespaces: [{ exact: "shop" }] }] };
const get = { to: [{ operation: { methods: ["GET"] } }] };

const groupCases: readonly { readonly name: string; readonly spec: JsonObject; readonly groups: unknown }[] = [
  { name: "no rules are no groups", spec: {}, groups: undefined },
  { name: "an empty rule holds always", spec: { rules: [{}] }, groups: [{}] },
  { name: "a source", spec: { rules: [fromShop] }, groups: [{ rules: [shopMatch] }] },
  {
    name: "operations come before sources, and each condition stands for itself",
    spec: {
      rules: [
        {
          ...fromShop,
          to: [{ operation: { ports: ["80", "x", "", "0x1", "65536"], notPorts: ["81"] } }],
          when: [{ key: "destination.port", values: ["82"] }],
        },
      ],
    },
    groups: [
      {
        rules: [
          { matches: [{ destinationPorts: [80], notDestinationPorts: [81] }] },
          shopMatch,
          { matches: [{ destinationPorts: [82] }] },
        ],
      },
    ],
  },
  {
    name: "texts may be present, begin with or end in something",
    spec: { rules: [{ from: [{ source: { principals: ["*", "a*", "*b", "c"] } }] }] },
    groups: [
      { rules: [{ matches: [{ principals: [{ presence: {} }, { prefix: "a" }, { suffix: "b" }, { exact: "c" }] }] }] },
    ],
  },
  {
    name: "accounts without a namespace are of the policy's",
    spec: { rules: [{ from: [{ source: { serviceAccounts: ["web", "other/x/y"] } }] }] },
    groups: [
      {
        rules: [
          {
            matches: [
              {
                serviceAccounts: [
                  { namespace: "shop", serviceAccount: "web" },
                  { namespace: "other", serviceAccount: "x/y" },
                ],
              },
            ],
          },
        ],
      },
    ],
  },
  {
    name: "addresses are ranges, and what is none is left out",
    spec: { rules: [{ from: [{ source: { ipBlocks: ["10.0.0.0/8", "10.9.9.9", "nonsense"] } }] }] },
    groups: [
      {
        rules: [
          {
            matches: [
              {
                sourceIps: [
                  { address: "CgAAAA==", length: 8 },
                  { address: "CgkJCQ==", length: 32 },
                ],
              },
            ],
          },
        ],
      },
    ],
  },
  { name: "ALLOW leaves out rules about requests", spec: { rules: [get, fromShop] }, groups: [{ rules: [shopMatch] }] },
  {
    name: "DENY leaves out what they ask of requests",
    spec: { action: "DENY", rules: [{ ...get, ...fromShop }] },
    groups: [{ rules: [{ matches: [{}] }, shopMatch] }],
  },
];
for (const { name, spec, groups } of groupCases)
  test(name, () => {
    assert.deepEqual(translated(aPolicy(spec)).groups, groups);
  });

const scopeCases: readonly (readonly [name: string, policy: Config<AuthorizationPolicy>, scope: string | undefined])[] =
  [
    ["of its namespace", aPolicy({}), "NAMESPACE"],
    ["of the mesh in the root namespace", aPolicy({}, "istio-system"), undefined],
    ["of the selected workloads", aPolicy({ selector: { matchLabels: { app: "a" } } }), "WORKLOAD_SELECTOR"],
  ];
for (const [name, policy, scope] of scopeCases)
  test(`the scope is that ${name}`, () => {
    assert.equal(translated(policy).scope, scope);
  });

const unsent: readonly (readonly [name: string, policy: Config<AuthorizationPolicy>, problem: RegExp | undefined])[] = [
  ["with targets", aPolicy({ targetRefs: [{ kind: "Service", name: "a" }] }), undefined],
  [
    "that are only tried",
    aPolicy({}, "shop", { "istio.io/dry-run": "True" }),
    /"shop\/p" using dry-run annotation.* isn't enabled/,
  ],
  ["that audit", aPolicy({ action: "AUDIT" }), /does not support the AUDIT action/],
  ["of an authorizer", aPolicy({ action: "CUSTOM", provider: { name: "x" } }), /does not support the CUSTOM action/],
];
for (const [name, policy, problem] of unsent)
  test(`policies ${name} are not sent`, () => {
    const found = translated(policy);
    assert.equal(found.isSent, false);
    if (problem === undefined) assert.equal(found.problem, undefined);
    else assert.match(found.problem ?? "", problem);
  });

const problems: readonly (readonly [name: string, spec: JsonObject, problem: RegExp])[] = [
  ["rules that ALLOW leaves out", { rules: [get] }, /found: methods\).*rules matching HTTP attributes are omitted/],
  ["what DENY leaves out", { action: "DENY", rules: [get, fromShop] }, /enforced without the HTTP rules/],
  ["a DENY of which nothing is left", { action: "DENY", rules: [{ ...get, ...fromShop }] }, /will have no effect/],
];
for (const [name, spec, problem] of problems)
  test(`the policy's status names ${name}`, () => {
    assert.match(translated(aPolicy(spec)).problem ?? "", problem);
  });

test("ztunnels that log without enforcing are sent policies that are only tried", () => {
  const tried = translated(
    aPolicy({ action: "DENY", rules: [fromShop] }, "shop", { "istio.io/dry-run": "true" }),
    true,
  );
  assert.deepEqual(
    [tried.isDryRun, tried.action, tried.groups, tried.problem],
    [true, "DENY", [{ rules: [shopMatch] }], undefined],
  );
  assert.equal(translated(aPolicy({}, "shop", { "istio.io/dry-run": "no" }), true).isDryRun, undefined);
});
