import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isOfRevision, namespacesOf, tagConfiguration } from "./revision-tag.ts";

const webhook = (more: object = {}) => ({
  name: "x",
  clientConfig: { service: { name: "s", namespace: "n" } },
  ...more,
});

describe("an injection webhook", () => {
  const cases: readonly (readonly [
    name: string,
    labels: Readonly<Record<string, string>> | undefined,
    count: number,
    expected: boolean,
  ])[] = [
    ["of the revision", { "istio.io/rev": "v1" }, 1, true],
    ["of another revision", { "istio.io/rev": "v2" }, 1, false],
    ["of a tag", { "istio.io/rev": "v1", "istio.io/tag": "prod" }, 1, false],
    ["without webhooks", { "istio.io/rev": "v1" }, 0, false],
    ["without labels", undefined, 1, false],
  ];
  for (const [name, labels, count, expected] of cases)
    it(`${name}: ${expected}`, () => {
      const metadata = { name: "a", ...(labels !== undefined && { labels }) };
      assert.equal(isOfRevision({ metadata, webhooks: Array(count).fill(webhook()) }, "v1"), expected);
    });

  it("without a list of webhooks is of none", () =>
    assert.equal(isOfRevision({ metadata: { labels: { "istio.io/rev": "v1" } } }, "v1"), false));
});

describe("the configuration of a tag", () => {
  const inSet = (key: string, value: string) => ({ key, operator: "In", values: [value] });
  const absent = (key: string) => ({ key, operator: "DoesNotExist" });
  const unless = { key: "sidecar.istio.io/inject", operator: "NotIn", values: ["false"] };
  const left = { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system"] };
  const base = {
    metadata: { name: "base" },
    webhooks: [
      webhook({ namespaceSelector: { matchExpressions: [inSet("istio.io/rev", "v1"), left] }, sideEffects: "None" }),
      webhook(),
    ],
  };
  const [rev, injection, inject] = ["istio.io/rev", "istio-injection", "sidecar.istio.io/inject"] as const;
  const selectors = (tag: string) => {
    const { webhooks = [], metadata } = tagConfiguration(base, { tag, revision: "v1" });
    return {
      metadata,
      webhooks: webhooks.map(({ name, clientConfig, namespaceSelector, objectSelector, ...more }) => [
        ...[name.replace(".sidecar-injector.istio.io", ""), clientConfig, more],
        ...[namespaceSelector?.matchExpressions, objectSelector?.matchExpressions],
      ]),
    };
  };
  const of = [webhook().clientConfig, { sideEffects: "None" }];

  it("asks by the revision's name alone", () =>
    assert.deepEqual(selectors("prod"), {
      metadata: {
        name: "istio-revision-tag-prod",
        labels: { app: "sidecar-injector", "istio.io/tag": "prod", "istio.io/rev": "v1" },
      },
      webhooks: [
        ["rev.namespace", ...of, [inSet(rev, "prod"), absent(injection), left], [unless]],
        ["rev.object", ...of, [absent(rev), absent(injection), left], [unless, inSet(rev, "prod")]],
      ],
    }));

  it("of the default tag asks for namespaces and pods that ask for injection too", () =>
    assert.deepEqual(selectors("default").webhooks.slice(2), [
      ["namespace", ...of, [inSet(injection, "enabled"), left], [unless]],
      ["object", ...of, [absent(injection), absent(rev), left], [inSet(inject, "true"), absent(rev)]],
    ]));

  it("is none without webhooks", () => {
    assert.throws(() => tagConfiguration({ metadata: {} }, { tag: "a", revision: "b" }), TypeError);
    const { webhooks = [] } = tagConfiguration({ metadata: {}, webhooks: [webhook()] }, { tag: "a", revision: "b" });
    assert.deepEqual(webhooks[0]?.namespaceSelector?.matchExpressions?.length, 2);
  });
});

it("namespaces of a tag are those whose label leads to it", () => {
  const namespaces = [
    ["d", { "istio.io/rev": "prod" }],
    ["b", { "istio.io/rev": "prod", "istio-injection": "enabled" }],
    ["c", { "istio-injection": "enabled" }],
    ["a", { "istio.io/rev": "prod" }],
    ["e", { "istio-injection": "disabled" }],
    ["f", undefined],
  ].map(([name, labels]) => ({ metadata: { name, ...(labels !== undefined && { labels }) } })) as never;
  assert.deepEqual(
    [namespacesOf("prod", namespaces), namespacesOf("default", namespaces)],
    [
      ["a", "d"],
      ["b", "c"],
    ],
  );
});
