/** The MeshConfig that another control plane sends. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { encode, fromJson } from "@flotilla/proto";
import { MeshConfigSchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { type LayerVersion, remoteLayer } from "./document-layers.ts";

const bytesOf = (json: object) => encode(MeshConfigSchema, fromJson(MeshConfigSchema, json as never));

it("another's MeshConfig counts as long as it is right; whom that one asks does not", async () => {
  const refused = (value: unknown) =>
    (value as { rootNamespace?: string }).rootNamespace === "bad" ? [{ field: "rootNamespace", reason: "is bad" }] : [];
  const layer = remoteLayer("istiod:15010", refused, () => 7);
  const stop = new AbortController();
  const versions = layer.versions(stop.signal)[Symbol.asyncIterator]();
  const next = async () => (await versions.next()).value as LayerVersion;

  layer.setDocument(bytesOf({ rootNamespace: "root", configSources: [{ address: "xds://other:1" }] }));
  assert.deepEqual([await next(), layer.problems()], [{ document: { rootNamespace: "root" }, eventTimeMs: 7 }, []]);

  layer.setDocument(bytesOf({ rootNamespace: "bad" }));
  assert.deepEqual(layer.problems(), [
    { file: "", line: 0, object: "MeshConfig of istiod:15010", field: "rootNamespace", reason: "is bad" },
  ]);
  layer.setDocument(new Uint8Array([255]));
  assert.deepEqual(
    layer.problems().map(({ object, field }) => [object, field]),
    [["MeshConfig of istiod:15010", ""]],
  );
  layer.setDocument(undefined);
  assert.deepEqual([await next(), layer.problems()], [{ document: {}, eventTimeMs: 7 }, []]);

  const last = versions.next();
  stop.abort();
  assert.equal((await last).done, true);
  await layer[Symbol.asyncDispose]();
});
