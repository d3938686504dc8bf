/** The policies that ztunnels are sent, and which of them each workload names. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type KubeObject, type Labels, parseNode } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { aKubeMesh, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { namesOf, resourceOf } from "../../testing/mesh.ts";

const env = { PILOT_ENABLE_AMBIENT: "true" };
const ztunnel = parseNode({
  id: "ztunnel~10.0.9.1~ztunnel-1.istio-system~istio-system.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: { NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes" },
});

const aPolicy = (path: string, spec: object) =>
  anObject("AuthorizationPolicy", path, { spec: { rules: [{ from: [{ source: { namespaces: ["a"] } }] }], ...spec } });
const aPeer = (path: string, mode: string, more: object = {}) =>
  anObject("PeerAuthentication", path, { spec: { mtls: { mode }, ...more } });
const aPod = (name: string, labels: Labels = {}) =>
  anObject("Pod", `shop/${name}`, {
    metadata: { labels },
    spec: { serviceAccountName: "a" },
    status: { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
  });
const anAmbientMesh = (...objects: readonly KubeObject[]) => aKubeMesh(objects, { env });

const selects = (app: string) => ({ selector: { matchLabels: { app } } });
const web = { app: "web" };
const strict = "istio-system/istio_converted_static_strict";
const converted = "shop/converted_peer_authentication_p";
const onPort = { ...selects("web"), portLevelMtls: { 8080: { mode: "PERMISSIVE" } } };

describe("the policies of ztunnels", () => {
  const sent: readonly {
    readonly name: string;
    readonly objects: readonly KubeObject[];
    readonly names: readonly string[];
  }[] = [
    { name: "a policy of a namespace", objects: [aPolicy("shop/a", {})], names: ["shop/a"] },
    {
      name: "several in the order of their names",
      objects: [aPolicy("shop/b", {}), aPolicy("a/z", {})],
      names: ["a/z", "shop/b"],
    },
    {
      name: "the mesh's refusal of plain text, as soon as there are modes",
      objects: [aPeer("shop/p", "STRICT")],
      names: [strict],
    },
    {
      name: "a mode of ports, as a policy of its own",
      objects: [aPeer("shop/p", "STRICT", onPort)],
      names: [strict, converted],
    },
    {
      name: "nothing of a waypoint's own policy",
      objects: [
        aPolicy("shop/a", { targetRefs: [{ kind: "Gateway", name: "w", group: "gateway.networking.k8s.io" }] }),
      ],
      names: [],
    },
  ];
  for (const { name, objects, names } of sent)
    test(`are ${name}`, () => {
      assert.deepEqual(namesOf(anAmbientMesh(...objects), ztunnel, typeUrl.authorization), names);
    });

  test("are none where the mesh is not ambient", () => {
    const core = aKubeMesh([aPolicy("shop/a", {}), aPeer("shop/p", "STRICT")]);
    assert.deepEqual(namesOf(core, ztunnel, typeUrl.authorization), []);
    assert.equal(resourceOf(core, ztunnel, typeUrl.authorization, "shop/a"), undefined);
  });

  const scopes = [
    { name: "of its namespace", path: "shop/a", spec: {}, scope: "NAMESPACE" },
    { name: "of the mesh, from the root namespace", path: "istio-system/a", spec: {}, scope: "GLOBAL" },
    { name: "of workloads with its labels", path: "shop/a", spec: selects("web"), scope: "WORKLOAD_SELECTOR" },
    {
      name: "of workloads, from the root namespace",
      path: "istio-system/a",
      spec: selects("web"),
      scope: "WORKLOAD_SELECTOR",
    },
  ];
  for (const { name, path, spec, scope } of scopes)
    test(`a policy is one ${name}`, () => {
      const policy = resourceOf(anAmbientMesh(aPolicy(path, spec)), ztunnel, typeUrl.authorization, path);
      // The first value of an enumeration is left out.
      assert.equal(inShort(fieldAt(policy, "scope") ?? "GLOBAL"), scope);
      assert.equal(inShort(fieldAt(policy, "action") ?? "ALLOW"), "ALLOW");
    });

  test("names that are none of a policy have nothing", () => {
    const core = anAmbientMesh(aPolicy("shop/a", {}));
    for (const name of ["a", "shop/b", "other/a", "shop/converted_peer_authentication_a"])
      assert.equal(resourceOf(core, ztunnel, typeUrl.authorization, name), undefined, name);
  });
});

describe("a workload names", () => {
  const named: readonly {
    readonly name: string;
    readonly objects: readonly KubeObject[];
    readonly policies: readonly string[];
  }[] = [
    { name: "no policy of its namespace, which the ztunnel finds", objects: [aPolicy("shop/a", {})], policies: [] },
    { name: "policies that select it", objects: [aPolicy("shop/a", selects("web"))], policies: ["shop/a"] },
    { name: "none that select another one", objects: [aPolicy("shop/a", selects("other"))], policies: [] },
    { name: "none of another namespace", objects: [aPolicy("other/a", selects("web"))], policies: [] },
    {
      name: "those of the root namespace",
      objects: [aPolicy("istio-system/a", selects("web"))],
      policies: ["istio-system/a"],
    },
    {
      name: "them in the order of their names",
      objects: [
        aPolicy("shop/b", selects("web")),
        aPolicy("istio-system/c", selects("web")),
        aPolicy("shop/a", selects("web")),
      ],
      policies: ["istio-system/c", "shop/a", "shop/b"],
    },
    {
      name: "the refusal of plain text under a strict mode of its own",
      objects: [aPeer("shop/p", "STRICT", selects("web"))],
      policies: [strict],
    },
    {
      name: "the refusal of plain text under a strict mode of its namespace",
      objects: [aPeer("shop/p", "STRICT")],
      policies: [strict],
    },
    {
      name: "nothing under a mode that takes plain text",
      objects: [aPeer("shop/p", "PERMISSIVE", selects("web"))],
      policies: [],
    },
    { name: "the mode of its ports", objects: [aPeer("shop/p", "STRICT", onPort)], policies: [converted] },
    {
      name: "nothing under a strict mode of another workload",
      objects: [aPeer("shop/p", "STRICT", selects("other"))],
      policies: [],
    },
  ];
  for (const { name, objects, policies } of named)
    test(name, () => {
      const core = anAmbientMesh(aPod("p", web), ...objects);
      const address = resourceOf(core, ztunnel, typeUrl.address, "Kubernetes//Pod/shop/p");
      assert.deepEqual(fieldAt(address, "workload.authorizationPolicies") ?? [], policies);
    });

  test("none by a selector where it has no labels itself", () => {
    const core = anAmbientMesh(
      aPod("p"),
      aPolicy("shop/a", selects("web")),
      aPolicy("istio-system/b", selects("web")),
      aPeer("shop/p", "PERMISSIVE"),
    );
    const address = resourceOf(core, ztunnel, typeUrl.address, "Kubernetes//Pod/shop/p");
    assert.deepEqual(fieldAt(address, "workload.authorizationPolicies") ?? [], []);
  });
});
