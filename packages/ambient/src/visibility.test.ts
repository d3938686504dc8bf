import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { create } from "@flotilla/proto";
import {
  type ServiceEntryVisibility,
  ServiceEntryVisibilitySchema,
  ServiceEntryVisibility_Visibility as Visibility,
} from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { type Candidate, canonicalOf, entryVisibility, servedOf } from "./visibility.ts";

const selecting = (matchLabels: Record<string, string>, visibility: Visibility) => ({
  matchingRules: [{ matcher: { case: "namespaceSelector" as const, value: { matchLabels } } }],
  visibility,
});
const settings: ServiceEntryVisibility = create(ServiceEntryVisibilitySchema, {
  defaultVisibility: Visibility.NAMESPACE,
  policies: [
    selecting({ team: "edge" }, Visibility.PUBLIC),
    selecting({ "kubernetes.io/metadata.name": "hidden" }, Visibility.NONE),
    selecting({ team: "edge", stage: "test" }, Visibility.NONE),
  ],
});

const both: ServiceEntryVisibility = create(ServiceEntryVisibilitySchema, {
  defaultVisibility: Visibility.NAMESPACE,
  policies: [
    {
      matchingRules: [
        ...selecting({ team: "edge" }, Visibility.NONE).matchingRules,
        ...selecting({ stage: "test" }, Visibility.NONE).matchingRules,
      ],
      visibility: Visibility.NONE,
    },
  ],
});
const everywhere: ServiceEntryVisibility = create(ServiceEntryVisibilitySchema, {
  policies: [{ matchingRules: [], visibility: Visibility.NONE }],
});

describe("the ServiceEntries of a namespace", () => {
  const cases = [
    { name: "are public without settings", labels: {}, settings: undefined, expected: "public" },
    { name: "are as by default where no policy matches", labels: { team: "shop" }, settings, expected: "namespace" },
    {
      name: "are as the first policy that matches",
      labels: { team: "edge", stage: "test" },
      settings,
      expected: "public",
    },
    {
      name: "are as a policy of which every rule matches",
      labels: { team: "edge" },
      settings: both,
      expected: "namespace",
    },
    { name: "are as a policy without rules", labels: {}, settings: everywhere, expected: "hidden" },
    { name: "can be selected by its name", namespace: "hidden", labels: {}, settings, expected: "hidden" },
  ];
  for (const { name, namespace = "shop", labels, settings: given, expected } of cases)
    test(name, () => assert.equal(entryVisibility(given, namespace, labels), expected));
});

function aCandidate(text: string): Candidate {
  const [namespace = "", kind, created, visibility = "public"] = text.split(" ");
  return {
    ...{ namespace, isKubernetes: kind === "Service", creationTimeMs: Number(created) },
    visibility: visibility as Candidate["visibility"],
  };
}
const shown = ({ namespace, creationTimeMs }: Candidate) => `${namespace} ${creationTimeMs}`;

describe("of several services of a host name", () => {
  const cases = [
    {
      name: "the oldest ServiceEntry of a namespace is served",
      all: ["a entry 2", "a entry 1"],
      served: ["a 1"],
      canonical: "a 1",
    },
    {
      name: "a Service is served before a ServiceEntry",
      all: ["a entry 1", "a Service 2"],
      served: ["a 2"],
      canonical: "a 2",
    },
    { name: "each namespace has its own", all: ["a entry 2", "b entry 1"], served: ["a 2", "b 1"], canonical: "b 1" },
    {
      name: "a Service is meant before an older ServiceEntry",
      all: ["a entry 1", "b Service 2"],
      served: ["a 1", "b 2"],
      canonical: "b 2",
    },
    {
      name: "one that not all know is not meant",
      all: ["a entry 1 namespace", "b entry 2"],
      served: ["a 1", "b 2"],
      canonical: "b 2",
    },
    {
      name: "none is meant where no other cluster has it",
      all: ["a entry 1 namespace"],
      served: ["a 1"],
      canonical: undefined,
    },
  ];
  for (const { name, all, served, canonical } of cases)
    test(name, () => {
      const kept = servedOf(all.map(aCandidate));
      assert.deepEqual(kept.map(shown), served);
      const meant = canonicalOf(kept);
      assert.equal(meant && shown(meant), canonical);
    });
});
