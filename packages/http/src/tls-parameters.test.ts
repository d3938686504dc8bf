/** TLS of servers by policy: versions, suites and curves that Node takes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSecureContext, getCiphers } from "node:tls";
import { type ServerTlsParameters, serverTlsParameters, type TlsPolicy, tlsCipherSuites } from "./tls-parameters.ts";

const suitesOf13 = "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256";
const certified = [
  "ECDSA-AES128-GCM-SHA256",
  "RSA-AES128-GCM-SHA256",
  "ECDSA-AES256-GCM-SHA384",
  "RSA-AES256-GCM-SHA384",
]
  .map((suite) => `ECDHE-${suite}`)
  .join(":");
const aes = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384";
const from12 = { minVersion: "TLSv1.2", honorCipherOrder: true } as const;

describe("TLS of servers", () => {
  const cases: readonly (readonly [name: string, policy: TlsPolicy, expected: ServerTlsParameters])[] = [
    ["without a policy begins at 1.2, with Node's suites", {}, from12],
    ["with an empty policy is the same", { compliancePolicy: "", tlsCipherSuites: [] }, from12],
    ["begins at 1.3 where a setting does", { tlsMinVersion: "1.3" }, { ...from12, minVersion: "TLSv1.3" }],
    [
      "has the suites of settings behind those of 1.3, without unknown ones",
      { tlsCipherSuites: ["TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "none", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"] },
      { ...from12, ciphers: `${suitesOf13}:ECDHE-RSA-AES256-SHA:ECDHE-ECDSA-AES128-GCM-SHA256` },
    ],
    ["has Node's suites where all of the settings are unknown", { tlsCipherSuites: ["none"] }, from12],
    [
      "is 1.2 alone for fips-140-2, whatever the settings",
      { compliancePolicy: "fips-140-2", tlsMinVersion: "1.3", tlsCipherSuites: ["TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"] },
      { ...from12, maxVersion: "TLSv1.2", ciphers: certified, ecdhCurve: "P-256" },
    ],
    [
      "is 1.2 and 1.3 for fips-140-3",
      { compliancePolicy: "fips-140-3" },
      { ...from12, maxVersion: "TLSv1.3", ciphers: `${aes}:${certified}`, ecdhCurve: "P-256:P-384" },
    ],
    [
      "is 1.3 with a key exchange against quantum computers for pqc",
      { compliancePolicy: "pqc" },
      { ...from12, minVersion: "TLSv1.3", maxVersion: "TLSv1.3", ciphers: aes, ecdhCurve: "X25519MLKEM768" },
    ],
  ];
  for (const [name, policy, expected] of cases)
    it(name, () => {
      const found = serverTlsParameters(policy);
      assert.deepEqual(found, expected);
      assert.doesNotThrow(() => createSecureContext(found));
    });

  it("names suites of Go that OpenSSL has", () => {
    const known = new Set(getCiphers().map((name) => name.toUpperCase()));
    assert.deepEqual(
      [...tlsCipherSuites.values()].filter((name) => !known.has(name)),
      [],
    );
    assert.equal(tlsCipherSuites.size, 10);
  });
});
