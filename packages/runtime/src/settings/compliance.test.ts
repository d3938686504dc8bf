/** TLS of the own ports, as settings. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { complianceSetting, tlsPortSettings } from "./compliance.ts";

const suites = tlsPortSettings.tlsCipherSuites;

it("cipher suites are known ones of TLS 1.2; those of 1.3 may be listed", () => {
  assert.deepEqual(suites.default, []);
  assert.deepEqual(
    suites.parse("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_AES_128_GCM_SHA256,TLS_CHACHA20_POLY1305_SHA256"),
    ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"],
  );
  assert.match(suites.bounds, /^names separated by commas, of .*TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384/);
  for (const text of ["TLS_RSA_WITH_RC4_128_SHA", "ECDHE-RSA-AES256-GCM-SHA384", "x_TLS_AES_128_GCM_SHA256"])
    assert.throws(() => suites.parse(text), new RegExp(`has ${text}, which is none of: names separated by commas`));
});

it("versions and policies are those that there are", () => {
  assert.equal(tlsPortSettings.tlsMinVersion.parse("1.3"), "1.3");
  assert.throws(() => tlsPortSettings.tlsMinVersion.parse("1.1"));
  assert.deepEqual(
    ["fips-140-2", "fips-140-3", "pqc"].map((text) => complianceSetting.compliancePolicy.parse(text)),
    ["fips-140-2", "fips-140-3", "pqc"],
  );
  assert.throws(() => complianceSetting.compliancePolicy.parse("fips"));
});
