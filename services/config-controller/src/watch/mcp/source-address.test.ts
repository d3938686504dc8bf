/** Entries of MeshConfig's configSources. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readSourceAddresses } from "./source-address.ts";

const read = (...entries: readonly unknown[]) =>
  readSourceAddresses({ configSources: entries } as never, (name) =>
    ["Sidecar", "ServiceEntry", "WorkloadEntry", "WorkloadGroup"].includes(name),
  );
const plain = {
  ...{ mode: "DISABLE", certFile: undefined, keyFile: undefined, caFile: undefined, serverName: undefined },
  ...{ subjectAltNames: [], skipVerify: false },
};
const mcp = {
  ...{ type: "xds", name: "xds://host:1", address: "host:1", kinds: [], withMesh: false, tls: plain },
  ...{ isRequired: true, maxAgeMs: undefined },
};

describe("a source of configuration", () => {
  const cases: readonly (readonly [entry: object, expected: object])[] = [
    [{ address: "fs:///etc/mesh" }, { type: "directory", path: "/etc/mesh" }],
    [{ address: "k8s://" }, { type: "kubernetes" }],
    [{ address: "xds://host:1" }, mcp],
    [{ address: "xds://host:1?required=false&mesh=true" }, { ...mcp, isRequired: false, withMesh: true }],
    [{ address: "xds://host:1?required=true&mesh=false" }, mcp],
    [{ address: "xds://host:1?maxAge=90s" }, { ...mcp, maxAgeMs: 90_000 }],
    [{ address: "xds://host:1?maxAge=1.5h" }, { ...mcp, maxAgeMs: 5_400_000 }],
    [{ address: "xds://host:1?maxAge=20ms" }, { ...mcp, maxAgeMs: 20 }],
    [{ address: "xds://host:1?maxAge=2m" }, { ...mcp, maxAgeMs: 120_000 }],
    [{ address: "xds://host:1?kinds=Sidecar,ServiceEntry" }, { ...mcp, kinds: ["Sidecar", "ServiceEntry"] }],
    [{ address: "xds://host:1?kinds=" }, mcp],
    [
      { address: "xds://host:1", subscribedResources: ["SERVICE_REGISTRY"] },
      { ...mcp, kinds: ["ServiceEntry", "WorkloadEntry", "WorkloadGroup"] },
    ],
    [
      { address: "xds://host:1", subscribed_resources: ["SERVICE_REGISTRY"] },
      { ...mcp, kinds: ["ServiceEntry", "WorkloadEntry", "WorkloadGroup"] },
    ],
    [
      { address: "xds://host:1?kinds=Sidecar", subscribedResources: ["SERVICE_REGISTRY"] },
      { ...mcp, kinds: ["Sidecar"] },
    ],
    [{ address: "xds://host:1", subscribedResources: [] }, mcp],
    [
      {
        address: "xds://host:1",
        tlsSettings: {
          ...{ mode: "MUTUAL", clientCertificate: "c", privateKey: "k", caCertificates: "r", sni: "s" },
          ...{ subjectAltNames: ["a", 7, "b"], insecureSkipVerify: true },
        },
      },
      {
        ...mcp,
        tls: {
          ...{ mode: "MUTUAL", certFile: "c", keyFile: "k", caFile: "r", serverName: "s" },
          ...{ subjectAltNames: ["a", "b"], skipVerify: true },
        },
      },
    ],
    [
      { address: "xds://host:1", tls_settings: { mode: "SIMPLE", ca_certificates: "r", insecure_skip_verify: "true" } },
      { ...mcp, tls: { ...plain, mode: "SIMPLE", caFile: "r" } },
    ],
    [{ address: "xds://host:1", tlsSettings: { mode: "", sni: "", privateKey: 7 } }, mcp],
  ];
  for (const [entry, expected] of cases)
    it(`${JSON.stringify(entry)}`, () => assert.deepEqual(read(entry), { sources: [expected], findings: [] }));

  const wrong: readonly (readonly [entry: object, field: string, reason: string])[] = [
    [{}, "address", '"" is no address such as xds://host:port, fs:///path or k8s://'],
    [{ address: 7 }, "address", '"7" is no address such as xds://host:port, fs:///path or k8s://'],
    [{ address: "host:port:x" }, "address", '"host:port:x" is neither xds://, fs:// nor k8s://'],
    [{ address: "http://host:1" }, "address", '"http://host:1" is neither xds://, fs:// nor k8s://'],
    [{ address: "fs://" }, "address", '"fs://" names no directory'],
    [{ address: "xds://host" }, "address", '"xds://host" names no host and port'],
    [{ address: "xds:///x" }, "address", '"xds:///x" names no host and port'],
    [
      { address: "xds://host:1?x=1" },
      "address",
      '"xds://host:1?x=1" has the unknown parameter x; known are required, maxAge, kinds, mesh',
    ],
    [
      { address: "xds://host:1?required=yes" },
      "address",
      '"xds://host:1?required=yes" has a parameter required that is not true or false',
    ],
    [
      { address: "xds://host:1?mesh=1" },
      "address",
      '"xds://host:1?mesh=1" has a parameter mesh that is not true or false',
    ],
    [
      { address: "xds://host:1?maxAge=5" },
      "address",
      '"xds://host:1?maxAge=5" has a parameter maxAge that is no duration such as 90s or 5m',
    ],
    [
      { address: "xds://host:1?kinds=Sidecar,Pod" },
      "address",
      '"xds://host:1?kinds=Sidecar,Pod" asks for Pod, which is no kind of Istio\'s',
    ],
    [
      { address: "xds://host:1", tlsSettings: { mode: "TLS" } },
      "tlsSettings.mode",
      "is none of DISABLE, SIMPLE, MUTUAL, ISTIO_MUTUAL",
    ],
    [
      { address: "xds://host:1", tlsSettings: { credentialName: "a" } },
      "tlsSettings.credentialName",
      "is not read for sources: name files",
    ],
    [
      { address: "xds://host:1", tlsSettings: { mode: "MUTUAL", privateKey: "k" } },
      "tlsSettings.clientCertificate",
      "is missing with mode MUTUAL",
    ],
    [
      { address: "xds://host:1", tlsSettings: { mode: "MUTUAL", clientCertificate: "c" } },
      "tlsSettings.privateKey",
      "is missing with mode MUTUAL",
    ],
  ];
  for (const [entry, field, reason] of wrong)
    it(`${JSON.stringify(entry)} is refused, and no other`, () =>
      assert.deepEqual(read({ address: "k8s://" }, entry, { address: "xds://host:1" }), {
        sources: [{ type: "kubernetes" }, mcp],
        findings: [{ field: `configSources[1].${field}`, reason }],
      }));

  it("is none where there is no list of them", () => {
    const none = { sources: [], findings: [] };
    assert.deepEqual(
      [readSourceAddresses({}, () => true), readSourceAddresses({ configSources: "k8s://" }, () => true)],
      [none, none],
    );
  });
});
