import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unknownSettings } from "./unknown-settings.ts";

const known = ["PILOT_HTTP10", "PILOT_ENABLE_STATUS", "ISTIO_DUAL_STACK"];

describe("variables that are named like settings of Istio and are none", () => {
  const cases: readonly { readonly name: string; readonly nearest: string | undefined }[] = [
    { name: "PILOT_HTTP_10", nearest: "PILOT_HTTP10" },
    { name: "PILOT_ENABLE_STATS", nearest: "PILOT_ENABLE_STATUS" },
    { name: "CITADEL_SOMETHING_ELSE", nearest: undefined },
  ];
  for (const { name, nearest } of cases)
    it(`${name}: ${nearest ?? "nothing is near"}`, () => {
      assert.deepEqual(unknownSettings({ [name]: "1" }, known), [{ name, nearest }]);
    });

  it("settings, other programs' variables and Kubernetes' service links are not meant", () => {
    const links = [
      "ISTIO_INGRESSGATEWAY_SERVICE_HOST",
      "ISTIO_INGRESSGATEWAY_SERVICE_PORT_HTTP2",
      "ISTIO_INGRESSGATEWAY_PORT",
      "ISTIO_INGRESSGATEWAY_PORT_80_TCP",
      "ISTIO_INGRESSGATEWAY_PORT_80_TCP_ADDR",
    ];
    const env = Object.fromEntries([...known, "PATH", "PILOT", "MY_PILOT_X", ...links].map((name) => [name, "x"]));
    assert.deepEqual(unknownSettings(env, known), []);
  });

  it("the settings of all services are known without being given", () => {
    assert.deepEqual(unknownSettings({ PILOT_HTTP10: "true", CITADEL_SELF_SIGNED_CA_CERT_TTL: "1h" }), []);
    assert.deepEqual(unknownSettings({ PILOT_HTP10: "true" }), [{ name: "PILOT_HTP10", nearest: "PILOT_HTTP10" }]);
  });
});
