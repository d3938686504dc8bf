import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultMeshConfig } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import { injectionConfigSource } from "./config-source.ts";
import { injectPod } from "./inject.ts";
import type { Pod, Texts } from "./pod.ts";

/** As Istio's chart `gateway` has its pods, by the built-in templates. */
async function injected(annotations: Texts): Promise<Pod> {
  const stop = AbortSignal.timeout(10_000);
  const files = { configFile: undefined, valuesFile: undefined, pollMs: 1_000 };
  const source = injectionConfigSource(
    { ...files, adjust: (config) => config, log: noopLogger, onStale: () => undefined },
    stop,
  );
  await source.first();
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "edge-5d", controller: true };
  const labels = { app: "edge", "pod-template-hash": "5d" };
  const container = { name: "istio-proxy", image: "auto", ports: [{ containerPort: 8080, name: "http" }] };
  const pod: Pod = {
    metadata: { generateName: "edge-5d-", labels, annotations, ownerReferences: [owner] },
    spec: { serviceAccountName: "edge", containers: [container] },
  };
  const environment = { revision: "default", nativeSidecars: true, platform: "", compliancePolicy: "" };
  const request = { pod, namespace: "edge", namespaceAnnotations: {}, proxyEnv: {}, mesh: defaultMeshConfig };
  return injectPod(request, source.current(), environment);
}

describe("the built-in gateway template", () => {
  it("makes a router of the pod's own container, and captures nothing", async () => {
    const { metadata, spec } = await injected({ "inject.istio.io/templates": "gateway" });
    assert.deepEqual(
      spec.containers?.map(({ name }) => name),
      ["istio-proxy"],
    );
    assert.equal(spec.initContainers, undefined);
    const [proxy] = spec.containers ?? [];
    assert.equal(proxy?.image, "docker.io/istio/proxyv2:1.30.3");
    assert.deepEqual(((proxy?.["args"] ?? []) as readonly string[]).slice(0, 2), ["proxy", "router"]);
    assert.deepEqual(proxy?.ports?.map(({ containerPort }) => containerPort).sort(), [15_090, 8080].sort());
    assert.equal(metadata.labels?.["service.istio.io/canonical-name"], "edge");
    const env = new Map((proxy?.env ?? []).map(({ name, value }) => [name, value]));
    assert.equal(env.get("ISTIO_META_WORKLOAD_NAME"), "edge");
    assert.equal(env.get("ISTIO_META_OWNER"), "kubernetes://apis/apps/v1/namespaces/edge/deployments/edge");
    assert.equal(env.get("ISTIO_META_POD_PORTS"), '[{"containerPort":8080,"name":"http"}]');
  });

  it("takes the image and the probe's times that annotations say", async () => {
    const { spec } = await injected({
      "inject.istio.io/templates": "gateway",
      "sidecar.istio.io/proxyImage": "example.com/proxy:1",
      "readiness.status.sidecar.istio.io/periodSeconds": "3",
    });
    const [proxy] = spec.containers ?? [];
    assert.equal(proxy?.image, "example.com/proxy:1");
    const probe = proxy?.["readinessProbe"] as { readonly periodSeconds: number } | undefined;
    assert.equal(probe?.periodSeconds, 3);
  });
});
