/** The remains of requested parameters under the policies. Source: istiod asked, for servers and clients alike. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Any, unpack } from "@flotilla/proto";
import {
  TlsParameters_CompliancePolicy as EnvoyPolicy,
  TlsParameters_TlsProtocol as Protocol,
} from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/common_pb";
import type { DownstreamTlsContext } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/tls_pb";
import { hboneServerTls } from "../hbone/hbone-tls.ts";
import { certifiedCipherSuites, defaultCipherSuites } from "./cipher-suites.ts";
import { type CompliancePolicy, compliantParameters, type TlsParameters } from "./compliance.ts";

const { TLSv1_0, TLSv1_2, TLSv1_3 } = Protocol;
const asked: TlsParameters = {
  tlsMinimumProtocolVersion: TLSv1_0,
  tlsMaximumProtocolVersion: TLSv1_3,
  cipherSuites: ["AES128-SHA", "ECDHE-RSA-AES256-GCM-SHA384"],
  ecdhCurves: ["X25519"],
};

const cases: readonly [name: string, CompliancePolicy, TlsParameters | undefined, TlsParameters | undefined][] = [
  ["no policy leaves what was asked for", "", asked, asked],
  ["no policy adds nothing", "", undefined, undefined],
  [
    "fips-140-2 allows version 1.2, certified suites and the default curve",
    "fips-140-2",
    asked,
    {
      tlsMinimumProtocolVersion: TLSv1_2,
      tlsMaximumProtocolVersion: TLSv1_2,
      cipherSuites: ["ECDHE-RSA-AES256-GCM-SHA384"],
      ecdhCurves: [],
    },
  ],
  [
    "fips-140-2 restricts a server that states nothing",
    "fips-140-2",
    undefined,
    { tlsMinimumProtocolVersion: TLSv1_2, tlsMaximumProtocolVersion: TLSv1_2, cipherSuites: [], ecdhCurves: [] },
  ],
  ["fips-140-3 is Envoy's own policy", "fips-140-3", undefined, { compliancePolicies: [EnvoyPolicy.FIPS_202205] }],
  [
    "fips-140-3 leaves what was asked for to Envoy",
    "fips-140-3",
    asked,
    { ...asked, compliancePolicies: [EnvoyPolicy.FIPS_202205] },
  ],
  [
    "pqc asks for version 1.3 and a key agreement that outlasts quantum computers",
    "pqc",
    asked,
    {
      tlsMinimumProtocolVersion: TLSv1_3,
      tlsMaximumProtocolVersion: TLSv1_3,
      cipherSuites: [...certifiedCipherSuites],
      ecdhCurves: ["X25519MLKEM768"],
    },
  ],
];

describe("COMPLIANCE_POLICY", () => {
  it("holds for the tunnels of HBONE, whose own version is 1.3", () => {
    const versionsUnder = (compliance: CompliancePolicy) => {
      const { value } = hboneServerTls({ peers: [], compliance }).configType;
      const { tlsParams } = (unpack(value as Any) as DownstreamTlsContext).commonTlsContext ?? {};
      return [tlsParams?.tlsMinimumProtocolVersion, tlsParams?.tlsMaximumProtocolVersion];
    };
    assert.deepEqual(versionsUnder(""), [TLSv1_3, TLSv1_3]);
    assert.deepEqual(versionsUnder("fips-140-2"), [TLSv1_2, TLSv1_2]);
  });

  for (const [name, policy, parameters, expected] of cases)
    it(name, () => assert.deepEqual(compliantParameters(policy, parameters), expected));

  it("leaves of the mesh's own suites those that are certified, in the mesh's order", () => {
    const { cipherSuites } = compliantParameters("fips-140-2", { cipherSuites: [...defaultCipherSuites] }) ?? {};
    assert.deepEqual(cipherSuites, defaultCipherSuites.slice(0, 4));
  });
});
