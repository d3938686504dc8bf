import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseInjectionConfig, type ValueSettings, valueOverrides } from "./config.ts";
import type { Json } from "./pod.ts";
import { proxyImage } from "./proxy-config.ts";

const values = {
  global: { hub: "docker.io/istio", tag: "1.0.0", variant: "debug", proxy: { image: "proxyv2", logLevel: "info" } },
};
const parsed = parseInjectionConfig(JSON.stringify({ templates: { sidecar: "x" } }), JSON.stringify(values));
const globalOf = (settings: Partial<ValueSettings>): Json => {
  const adjust = valueOverrides({
    proxyImage: undefined,
    rootConfigMap: undefined,
    namespace: "istio-system",
    ...settings,
  });
  return adjust(parsed).values["global"] as Json;
};

describe("settings that replace values of the injection configuration", () => {
  it("leave them as they are when they are not set", () => {
    assert.deepEqual(globalOf({}), { ...values.global, istioNamespace: "istio-system" });
  });

  it("PROXY_IMAGE is the image that pods get, and other values of the proxy stay", () => {
    const global = globalOf({ proxyImage: "registry.example:5000/mesh/istio-proxy:1.2.3" });
    assert.equal(proxyImage({ global }, {}, {}, "istio-proxy"), "registry.example:5000/mesh/istio-proxy:1.2.3");
    assert.deepEqual(global["proxy"], { image: "istio-proxy", logLevel: "info" });
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
