/** The mode of mutual TLS of a workload and its ports, and of a namespace's workloads for their callers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Labels, workloadMode } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aMesh, aSidecar } from "../../testing/mesh.ts";
import { query } from "../view.ts";
import { inboundMutualTls, namespaceMutualTls } from "./authn.ts";

const own = { matchLabels: { app: "web" } };
const strict = { mode: "STRICT" };
const permissive = { mode: "PERMISSIVE" };
const disabled = { mode: "DISABLE" };

interface Case {
  readonly name: string;
  /** Specs by `namespace/name`, oldest first. */
  readonly policies: Readonly<Record<string, JsonObject>>;
  readonly workload: string;
  readonly ports?: Readonly<Record<number, string>>;
}

const cases: readonly Case[] = [
  { name: "permissive without a policy", policies: {}, workload: "PERMISSIVE" },
  { name: "the mesh's", policies: { "istio-system/default": { mtls: strict } }, workload: "STRICT" },
  {
    name: "the namespace's before the mesh's",
    policies: { "istio-system/default": { mtls: strict }, "shop/default": { mtls: disabled } },
    workload: "DISABLE",
  },
  {
    name: "the workload's before the namespace's",
    policies: { "shop/default": { mtls: disabled }, "shop/web": { selector: own, mtls: strict } },
    workload: "STRICT",
  },
  {
    name: "UNSET is what holds around it",
    policies: { "shop/default": { mtls: strict }, "shop/web": { selector: own, mtls: { mode: "UNSET" } } },
    workload: "STRICT",
  },
  {
    name: "one that selects other workloads counts for nothing",
    policies: { "shop/other": { selector: { matchLabels: { app: "other" } }, mtls: strict } },
    workload: "PERMISSIVE",
  },
  {
    name: "one of the root namespace that selects workloads is not the mesh's",
    policies: { "istio-system/web": { selector: own, mtls: strict } },
    workload: "PERMISSIVE",
  },
  {
    name: "an empty selector selects all",
    policies: { "shop/default": { selector: {}, mtls: strict } },
    workload: "STRICT",
  },
  {
    name: "ports have modes of their own, and inherit the workload's where theirs is UNSET",
    policies: {
      "shop/web": { selector: own, mtls: permissive, portLevelMtls: { 8080: strict, 9090: { mode: "UNSET" } } },
    },
    workload: "PERMISSIVE",
    ports: { 8080: "STRICT", 9090: "PERMISSIVE" },
  },
];

function meshOf(policies: Case["policies"]) {
  const configs = Object.entries(policies).map(([path, spec], index) => {
    const [namespace = "", name = ""] = path.split("/");
    return { ...aConfig("PeerAuthentication", namespace, name, spec), creationTimeMs: index };
  });
  return aMesh(...configs);
}

const proxy = aSidecar("shop", { LABELS: { app: "web" } });

describe("mutual TLS of inbound connections", () => {
  for (const { name, policies, workload, ports = {} } of cases)
    it(name, () => {
      const core = meshOf(policies);
      const found = core.read(inboundMutualTls, core.subjectOf(proxy));
      assert.equal(found.workload, workload);
      assert.deepEqual(Object.fromEntries(found.ports), ports);
    });

  it("of two for one workload the older counts", () => {
    const policies = { "shop/b": { selector: own, mtls: strict }, "shop/a": { selector: own, mtls: disabled } };
    const core = meshOf(policies);
    assert.equal(core.read(inboundMutualTls, core.subjectOf(proxy)).workload, "STRICT");
  });
});

describe("mutual TLS of a namespace's workloads, for their callers", () => {
  const ofShop = query("test-modes-of-shop", (view) => view.read(namespaceMutualTls, "shop"));
  const core = meshOf({
    "istio-system/default": { mtls: strict },
    "shop/web": { selector: own, mtls: permissive, portLevelMtls: { 8080: disabled } },
  });
  const modes = core.read(ofShop, core.subjectOf(aSidecar("elsewhere")));
  const asked: readonly (readonly [string, Labels, number, string])[] = [
    ["a workload that no object selects", { app: "other" }, 80, "STRICT"],
    ["a workload that one selects", { app: "web" }, 80, "PERMISSIVE"],
    ["its port with a mode of its own", { app: "web" }, 8080, "DISABLE"],
  ];
  for (const [name, labels, port, mode] of asked)
    it(`${name}: ${mode}`, () => assert.equal(workloadMode(modes, labels, port), mode));
});
