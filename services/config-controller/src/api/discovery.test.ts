/** The documents that clients read first, each by its path. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { discoveryDocument } from "./discovery.ts";

// biome-ignore lint/suspicious/noExplicitAny: the documents have all shapes.
const read = (path: string): any => discoveryDocument(path, "2.0.0");
interface Named {
  readonly name: string;
}

describe("discovery", () => {
  for (const end of ["", "/"]) {
    it(`/version${end} names the Kubernetes version that is spoken, and ours`, () =>
      assert.deepEqual(read(`/version${end}`), { major: "1", minor: "33", gitVersion: "v1.33.0+flotilla-2.0.0" }));
    it(`/api${end} names the version of the kinds without a group`, () =>
      assert.deepEqual(read(`/api${end}`), { kind: "APIVersions", versions: ["v1"] }));
    it(`/apis${end} names the groups, each with its versions`, () => {
      const { kind, groups } = read(`/apis${end}`);
      assert.equal(kind, "APIGroupList");
      const names = groups.map(({ name }: Named) => name);
      assert.ok(names.includes("networking.istio.io") && names.includes("security.istio.io"), names.join());
      assert.equal(names.includes(""), false);
      assert.equal(new Set(names).size, names.length);
      for (const { name, versions, preferredVersion } of groups) {
        assert.deepEqual(preferredVersion, versions[0]);
        assert.equal(versions[0].groupVersion, `${name}/${versions[0].version}`);
      }
    });
  }

  it("of a group is what the list has of it", () => {
    const group = read("/apis/security.istio.io");
    assert.deepEqual([group.kind, group.apiVersion, group.name], ["APIGroup", "v1", "security.istio.io"]);
    const { kind: _, apiVersion: __, ...listed } = group;
    assert.deepEqual(
      read("/apis").groups.find(({ name }: Named) => name === group.name),
      listed,
    );
  });

  it("of a version has its kinds and their status, with the verbs of each", () => {
    const { kind, groupVersion, resources } = read("/apis/networking.istio.io/v1");
    assert.deepEqual([kind, groupVersion], ["APIResourceList", "networking.istio.io/v1"]);
    const of = (list: readonly Named[], name: string) => list.find((one) => one.name === name);
    const verbs = ["create", "delete", "get", "list", "patch", "update", "watch"];
    const common = { namespaced: true, kind: "VirtualService" };
    assert.deepEqual(of(resources, "virtualservices"), {
      ...{ name: "virtualservices", singularName: "virtualservice", ...common, verbs, shortNames: ["vs"] },
    });
    assert.deepEqual(of(resources, "virtualservices/status"), {
      ...{ name: "virtualservices/status", singularName: "", ...common, verbs: ["get", "patch", "update"] },
    });
    assert.equal(of(resources, "authorizationpolicies"), undefined, "a kind of another group");
    const core = read("/api/v1");
    assert.equal(core.groupVersion, "v1");
    assert.ok(of(core.resources, "secrets"));
    assert.equal("shortNames" in (of(read("/apis/security.istio.io/v1").resources, "peerauthentications") ?? {}), true);
    for (const { shortNames } of [...resources, ...core.resources] as readonly { shortNames?: readonly string[] }[])
      assert.notEqual(shortNames?.length, 0);
  });

  it("has a document of patches for each version", () => {
    const { paths } = read("/openapi/v3");
    assert.deepEqual(paths["api/v1"], { serverRelativeURL: "/openapi/v3/api/v1" });
    const document = read(paths["apis/networking.istio.io/v1"].serverRelativeURL);
    assert.deepEqual(document.info, { title: "Flotilla", version: "v1" });
    const path = "/apis/networking.istio.io/v1/namespaces/{namespace}/virtualservices/{name}";
    const { patch } = document.paths[path];
    assert.deepEqual(patch["x-kubernetes-group-version-kind"], {
      ...{ group: "networking.istio.io", version: "v1", kind: "VirtualService" },
    });
    assert.deepEqual(
      patch.parameters.map(({ name }: Named) => name),
      ["fieldValidation", "dryRun", "fieldManager", "force"],
    );
    assert.ok(read("/openapi/v3/api/v1").paths["/api/v1/namespaces/{namespace}/secrets/{name}"]);
    assert.ok(read("/openapi/v3/api/v1").paths["/api/v1/namespaces/{name}"], "a kind without namespace");
  });

  for (const path of [
    "/",
    "/apis/nobody.test",
    "/apis/networking.istio.io/v9",
    "/openapi/v3/api/v9",
    "/api/v1/secrets",
  ])
    it(`knows nothing of ${path}`, () => assert.equal(read(path), undefined));
});
