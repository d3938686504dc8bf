/** Headers that a proxy adds: by its own ProxyConfig, or by the mesh's where it was started without one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aSidecar, put } from "../../testing/mesh.ts";
import { snapshotOf } from "../../testing/snapshot.ts";
import { addsAttemptCount, proxyHeaders } from "./proxy-headers.ts";
import { isUnspecified } from "./service-address.ts";

const without = { attemptCount: { disabled: true } };
const server = { server: { value: "s" } };

function headersOf(own: JsonObject | undefined, ofMesh: JsonObject) {
  const mesh = aConfig("MeshConfig", "istio-system", "istio", { defaultConfig: { proxyHeaders: ofMesh } });
  const proxy = aSidecar("shop", own === undefined ? {} : { PROXY_CONFIG: { proxyHeaders: own } });
  const snapshot = snapshotOf({ changes: put(mesh), proxy });
  const headers = snapshot.read(proxyHeaders);
  return {
    counts: snapshot.read(addsAttemptCount),
    server: headers?.server?.value,
    disabled: headers?.attemptCount?.disabled,
  };
}

describe("proxyHeaders", () => {
  it("are the mesh's where the proxy has no ProxyConfig", () => {
    assert.deepEqual(headersOf(undefined, server), { counts: true, server: "s", disabled: undefined });
    assert.deepEqual(headersOf(undefined, without), { counts: false, server: undefined, disabled: true });
  });
  it("are the proxy's own, whatever the mesh has", () => {
    assert.deepEqual(headersOf(server, without), { counts: true, server: "s", disabled: undefined });
    assert.deepEqual(headersOf(without, server), { counts: false, server: undefined, disabled: true });
  });
});

it("an address is unspecified in either family", () => {
  for (const address of ["0.0.0.0", "::"]) assert.equal(isUnspecified(address), true);
  for (const address of ["10.0.0.1", "::1", ""]) assert.equal(isUnspecified(address), false);
});
