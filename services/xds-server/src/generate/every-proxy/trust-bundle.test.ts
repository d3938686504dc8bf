/** PCDS: the roots of the mesh as agents ask for them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bytesToJson, typeUrl } from "@flotilla/proto";
import { Core } from "../../app/core.ts";
import { aConfig, apply, aSidecar } from "../../testing/mesh.ts";

function bundleOf(core: Core) {
  const found = core.resources(core.subjectOf(aSidecar("shop")), typeUrl.proxyConfig);
  return [...(found?.byName ?? [])].map(([name, { bytes }]) => [name, bytesToJson(typeUrl.proxyConfig, bytes)]);
}

const published = (...pems: readonly string[]) =>
  aConfig("TrustBundle", "", "bundle", { roots: pems.map((pem) => ({ pem })), crls: ["a list"] });

describe("the roots that the mesh trusts", () => {
  it("are not sent before ca has published them", () => assert.deepEqual(bundleOf(new Core()), []));
  it("are sent in one resource without a name, and sent anew when they change", () => {
    const core = new Core();
    apply(core, published("first"));
    const of = (...caCertificatesPem: readonly string[]) => [["", { "@type": typeUrl.proxyConfig, caCertificatesPem }]];
    assert.deepEqual(bundleOf(core), of("first"));
    apply(core, published("first", "second"));
    assert.deepEqual(bundleOf(core), of("first", "second"));
  });
});
