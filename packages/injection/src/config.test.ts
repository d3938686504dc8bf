import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseInjectionConfig, type ValueSettings, valueOverrides } from "./config.ts";
import type { Json } from "./pod.ts";
import { proxyImage } from "./proxy-config.ts";

const values = {
  global: { hub: "docker.io/istio", tag: "1.0.0", variant: "debug", proxy: { image: "proxyv2", logLevel: "info" } },
};
const parsed = parseInjectionConfig(JSON.stringify({ templates: { sidecar: "x" } }), JSON.stringify(values));
const globalOf = (settings: Partial<ValueSettings>, config = parsed): Json => {
  const adjust = valueOverrides({
    proxyImage: undefined,
    rootConfigMap: undefined,
    ...{ namespace: "istio-system", clusterId: "Kubernetes" },
    ...settings,
  });
  return adjust(config).values["global"] as Json;
};

describe("settings that replace values of the injection configuration", () => {
  it("leave them as they are when they are not set", () => {
    const added = { istioNamespace: "istio-system", multiCluster: { clusterName: "Kubernetes" } };
    assert.deepEqual(globalOf({}), { ...values.global, ...added });
  });

  it("PROXY_IMAGE is the image that pods get, and other values of the proxy stay", () => {
    const global = globalOf({ proxyImage: "registry.example:5000/mesh/istio-proxy:1.2.3" });
    assert.equal(proxyImage({ global }, {}, {}, "istio-proxy"), "registry.example:5000/mesh/istio-proxy:1.2.3");
    assert.deepEqual(global["proxy"], { image: "istio-proxy", logLevel: "info" });
  });

  it("CLUSTER_ID is the cluster that proxies report, unless the values name one", () => {
    assert.deepEqual(globalOf({ clusterId: "east" })["multiCluster"], { clusterName: "east" });
    const named = { global: { multiCluster: { clusterName: "west", enabled: true } } };
    const config = parseInjectionConfig(JSON.stringify({ templates: { sidecar: "x" } }), JSON.stringify(named));
    assert.deepEqual(globalOf({ clusterId: "east" }, config)["multiCluster"], { clusterName: "west", enabled: true });
  });

  it("POD_NAMESPACE is where proxies find ca", () => {
    assert.equal(globalOf({ namespace: "flotilla-system" })["istioNamespace"], "flotilla-system");
  });

  it("PILOT_CA_CERT_CONFIGMAP is what pods mount the roots from", () => {
    assert.equal(globalOf({ rootConfigMap: "other-root" })["trustBundleName"], "other-root");
  });

  for (const proxyImage of ["proxyv2:1.2.3", "docker.io/istio/proxyv2", "docker.io/istio/proxyv2@sha256:00"])
    it(`${proxyImage} is refused`, () => {
      assert.throws(() => globalOf({ proxyImage }), /INJECT_BAD_CONFIG.*PROXY_IMAGE.*is not hub\/name:tag/);
    });
});
