import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { Core } from "../app/core.ts";
import { readSettings } from "../settings.ts";
import { aKubeMesh, anEntry } from "../testing/kube-mesh.ts";
import { apply, aService, aSidecar, resourceOf } from "../testing/mesh.ts";
import { defaultFeatures, parseFeatures } from "./features.ts";

describe("feature switches", () => {
  it("are read by the names and in the spellings that istiod takes", () => {
    const env = {
      COMPLIANCE_POLICY: "fips-140-2",
      PILOT_HTTP10: "t",
      DISABLE_SHADOW_HOST_SUFFIX: "0",
      DOMAIN_SUFFIX: "",
    };
    assert.deepEqual(parseFeatures(env), {
      ...defaultFeatures,
      compliancePolicy: "fips-140-2",
      http10: true,
      disableShadowHostSuffix: false,
    });
  });

  it("are refused with all that is wrong", () => {
    assert.throws(() => parseFeatures({ COMPLIANCE_POLICY: "fips-140-9", PILOT_DNS_CARES_UDP_MAX_QUERIES: "-1" }), {
      code: "SETTINGS_INVALID",
      message:
        /PILOT_DNS_CARES_UDP_MAX_QUERIES="-1": is not a whole number .*COMPLIANCE_POLICY="fips-140-9": is not one of fips-140-2/,
    });
  });

  it("take values of headers as a JSON object, and show none that is wrong", () => {
    const env = (PROVIDER_HEADER_VALUES: string) => ({ PROVIDER_HEADER_VALUES });
    assert.deepEqual(parseFeatures(env('{"KEY":"abc"}')).providerHeaderValues, { KEY: "abc" });
    for (const wrong of ["abc", '["abc"]', '{"KEY":1}', "null"])
      assert.throws(() => parseFeatures(env(wrong)), {
        message: /PROVIDER_HEADER_VALUES=\(hidden\): is not a JSON object of texts$/,
      });
  });

  it("put the values that providers name into headers of their requests", () => {
    const key = (value: object) => ({ name: "x-key", ...value });
    const headers = [key({ envName: "KEY" }), key({ envName: "toString" }), key({ value: "own" })];
    const core = aKubeMesh([anEntry("a"), anEntry("collector", { hosts: ["collector.shop.example"] })], {
      mesh: {
        extensionProviders: [{ name: "p", zipkin: { service: "collector.shop.example", port: 80, headers } }],
        defaultProviders: { tracing: ["p"] },
      },
      env: { PROVIDER_HEADER_VALUES: '{"KEY":"abc"}' },
    });
    const listener = JSON.stringify(resourceOf(core, aSidecar("shop"), typeUrl.listener, "0.0.0.0_80"));
    const values = [...listener.matchAll(/"key":"x-key"(?:,"value":"(\w*)")?/g)].map(([, value]) => value ?? "");
    assert.deepEqual(values, ["abc", "", "own"]);
  });

  it("reach what is generated from the environment of the service", () => {
    const service = aService("a", "shop");
    const maximumVersion = (env: Readonly<Record<string, string>>) => {
      const core = new Core({ features: readSettings(env) });
      apply(core, service);
      const cluster = resourceOf(core, aSidecar("shop"), typeUrl.cluster, `outbound|80||${service.hostname}`);
      return /"tlsMaximumProtocolVersion":"(\w+)"/.exec(JSON.stringify(cluster))?.[1];
    };
    assert.equal(maximumVersion({}), "TLSv1_3");
    assert.equal(maximumVersion({ COMPLIANCE_POLICY: "fips-140-2" }), "TLSv1_2");
  });
});
