/** Connection settings of a ProxyConfig on listeners, and what the profile EDGE stands for. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@flotilla/proto";
import {
  ProxyConfig_ConnectionSettingsSchema as ConnectionSettingsSchema,
  ProxyConfig_ConnectionSettings_PathWithEscapedSlashesAction as Escapes,
} from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import { aConfig, aRouter, aSidecar, put } from "../../../testing/mesh.ts";
import { snapshotOf } from "../../../testing/snapshot.ts";
import { connectionSettings } from "../../select/connection-settings.ts";
import { bufferLimit, connectionFields } from "./connection-settings.ts";

const seconds = (count: number) => ({ seconds: BigInt(count), nanos: 0 });
const ofMesh = { connection: undefined, idleTimeout: "9s", mergeSlashes: true, unescapeSlashes: true };
const stated = create(ConnectionSettingsSchema, {
  httpIdleTimeout: seconds(5),
  httpStreamIdleTimeout: seconds(6),
  httpMaxConcurrentStreams: 7,
  httpMergeSlashes: false,
  httpPathWithEscapedSlashesAction: Escapes.REJECT_REQUEST,
  listenerPerConnectionBufferLimitBytes: 8,
});

describe("connection settings", () => {
  it("leave the mesh's normalization and the proxy's idle timeout where there are none", () => {
    const fields = connectionFields(ofMesh, false);
    assert.deepEqual([fields.mergeSlashes, fields.pathWithEscapedSlashesAction], [true, 4]);
    assert.equal(fields.commonHttpProtocolOptions?.idleTimeout?.seconds, 9n);
    assert.deepEqual([fields.streamIdleTimeout.seconds, fields.http2ProtocolOptions], [0n, undefined]);
    assert.deepEqual(bufferLimit(ofMesh), {});
  });
  it("override them", () => {
    const fields = connectionFields({ ...ofMesh, connection: stated }, false);
    assert.deepEqual([fields.mergeSlashes, fields.pathWithEscapedSlashesAction], [false, 2]);
    assert.equal(fields.commonHttpProtocolOptions?.idleTimeout?.seconds, 5n);
    assert.deepEqual([fields.streamIdleTimeout.seconds, fields.http2ProtocolOptions?.maxConcurrentStreams], [6n, 7]);
    assert.deepEqual(bufferLimit({ connection: stated }), { perConnectionBufferLimitBytes: 8 });
  });
});

describe("the connection settings of a proxy", () => {
  const mesh = (connectionSettings: object) =>
    put(
      aConfig("MeshConfig", "istio-system", "istio", {
        defaultConfig: { connectionSettings: { ...connectionSettings } },
      }),
    );
  const edge = { profile: "EDGE", httpRequestTimeout: "7s" };
  const read = (proxy: ReturnType<typeof aSidecar>) => {
    const settings = snapshotOf({ changes: mesh(edge), proxy }).read(connectionSettings);
    return [settings?.httpRequestTimeout?.seconds, settings?.httpMaxConcurrentStreams, settings?.httpMergeSlashes];
  };

  it("have the values of the profile on a gateway, and keep those that are stated", () =>
    assert.deepEqual(read(aRouter("shop")), [7n, 100, true]));
  it("have only those that are stated on a sidecar", () =>
    assert.deepEqual(read(aSidecar("shop")), [7n, undefined, undefined]));
  it("are the proxy's own as a whole", () =>
    assert.deepEqual(read(aRouter("shop", { PROXY_CONFIG: { connectionSettings: { httpMaxConcurrentStreams: 3 } } })), [
      undefined,
      3,
      undefined,
    ]));
  it("are the mesh's where the proxy's own configuration states none", () =>
    assert.deepEqual(read(aRouter("shop", { PROXY_CONFIG: { concurrency: 2 } })), [7n, 100, true]));
});
