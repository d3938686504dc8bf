/** The MeshConfig that another control plane tells; everything said here counts more. */
import type { JsonObject } from "@flotilla/model";
import { decode, ProtoError, toJson } from "@flotilla/proto";
import { MeshConfigSchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { Wakeup } from "@flotilla/runtime";
import type { DocumentCheck, SourceProblem } from "@flotilla/sources";
import type { DocumentLayer, LayerVersion } from "./document-layer.ts";

export interface RemoteLayer extends DocumentLayer {
  /** Undefined: the server has none. */
  tell(bytes: Uint8Array | undefined): void;
}

/** `name` is the server's. */
export function remoteLayer(name: string, check: DocumentCheck, nowMs: () => number): RemoteLayer {
  const wakeup = new Wakeup();
  let pending: LayerVersion | undefined;
  let problems: readonly SourceProblem[] = [];
  return {
    tell: (bytes) => {
      const read = readMesh(bytes);
      const findings = "reason" in read ? [read] : check(read.document);
      problems = findings.map((finding) => ({ file: "", line: 0, object: `MeshConfig of ${name}`, ...finding }));
      if (findings.length > 0 || "reason" in read) return;
      pending = { document: read.document, eventTimeMs: nowMs() };
      wakeup.wake();
    },
    problems: () => problems,
    async *versions(stop): AsyncGenerator<LayerVersion, void, undefined> {
      while (!stop.aborted) {
        if (pending === undefined) await wakeup.wait(stop);
        const version = pending;
        pending = undefined;
        if (version !== undefined) yield version;
      }
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function readMesh(
  bytes: Uint8Array | undefined,
): { readonly document: JsonObject } | { readonly field: string; readonly reason: string } {
  if (bytes === undefined) return { document: {} };
  try {
    const { configSources: _, ...document } = toJson(MeshConfigSchema, decode(MeshConfigSchema, bytes)) as JsonObject;
    // Whom another control plane asks is its own affair.
    return { document };
  } catch (error) {
    if (!(error instanceof ProtoError)) throw error;
    return { field: "", reason: error.message };
  }
}
