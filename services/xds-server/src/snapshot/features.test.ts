import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { Core } from "../app/core.ts";
import { readSettings } from "../settings.ts";
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
