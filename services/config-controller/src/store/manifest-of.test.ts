import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { manifestOf } from "./manifest-of.ts";

const config = (kind: string, namespace: string, more: Partial<Config> = {}): Config => ({
  ...{
    key: { kind, namespace, name: "a" },
    labels: {},
    annotations: {},
    creationTimeMs: 1_500,
    spec: { data: { x: "y" } },
  },
  ...more,
});

describe("the manifest of an object", () => {
  const { uid } = manifestOf(config("VirtualService", "shop")).metadata;
  const metadata = { name: "a", namespace: "shop", uid, creationTimestamp: "1970-01-01T00:00:01Z" };
  const { namespace: _, ...plain } = metadata;
  const spec = { data: { x: "y" } };
  const cases: readonly (readonly [name: string, manifest: object, expected: object])[] = [
    [
      "has the version that it is stored in",
      manifestOf(config("VirtualService", "shop")),
      { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata, spec },
    ],
    [
      "has the version that is asked for, and everything that is known",
      manifestOf(
        config("VirtualService", "shop", {
          ...{ labels: { l: "1" }, annotations: { n: "2" }, resourceVersion: "7", generation: 3, status: { ok: true } },
        }),
        "networking.istio.io/v1beta1",
      ),
      {
        ...{ apiVersion: "networking.istio.io/v1beta1", kind: "VirtualService", spec, status: { ok: true } },
        metadata: { ...metadata, labels: { l: "1" }, annotations: { n: "2" }, resourceVersion: "7", generation: 3 },
      },
    ],
    [
      "of a Secret has its fields at the top",
      without(manifestOf(config("Secret", "shop")), "metadata"),
      { apiVersion: "v1", kind: "Secret", data: { x: "y" } },
    ],
    [
      "of a ConfigMap has its fields at the top",
      without(manifestOf(config("ConfigMap", "shop")), "metadata"),
      { apiVersion: "v1", kind: "ConfigMap", data: { x: "y" } },
    ],
    [
      "of an unknown kind is of the core",
      without(manifestOf(config("Nothing", "shop")), "metadata"),
      { apiVersion: "v1", kind: "Nothing", spec },
    ],
    [
      "has the name that Kubernetes gives the kind",
      without(manifestOf(config("KubernetesGateway", "shop")), "metadata"),
      { apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", spec },
    ],
    [
      "without a namespace names none",
      without(manifestOf(config("VirtualService", "")).metadata, "uid"),
      without(plain, "uid"),
    ],
  ];
  for (const [name, manifest, expected] of cases) it(name, () => assert.deepEqual(manifest, expected));

  it("has one uid for the life of an object", () => {
    assert.match(uid ?? "", /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    const others = [
      config("Gateway", "shop"),
      config("VirtualService", "bank"),
      config("VirtualService", "shop", { creationTimeMs: 2 }),
    ];
    const uids = [config("VirtualService", "shop", { spec: {} }), ...others].map((one) => manifestOf(one).metadata.uid);
    assert.deepEqual([uids[0] === uid, new Set(uids).size], [true, 4]);
  });
});

function without(object: object, name: string): object {
  return Object.fromEntries(Object.entries(object).filter(([field]) => field !== name));
}
