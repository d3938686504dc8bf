/** The documents that the mesh's configuration is put together from, in files and at other addresses. */
import type { JsonObject } from "@flotilla/model";
import { decode, ProtoError, toJson } from "@flotilla/proto";
import { MeshConfigSchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { Wakeup } from "@flotilla/runtime";
import { type DocumentCheck, documentSource, type SourceProblem } from "@flotilla/sources";

/** One of the documents that the mesh's configuration is put together from, wherever it lies. */
export interface LayerVersion {
  /** Empty where there is none. */
  readonly document: JsonObject;
  readonly eventTimeMs: number;
}

export interface DocumentLayer extends AsyncDisposable {
  /** Good versions only; where there is no document, an empty one comes first. */
  versions(stop: AbortSignal): AsyncIterable<LayerVersion>;
  problems(): readonly SourceProblem[];
}

interface FileLayerOptions {
  readonly path: string;
  readonly check: DocumentCheck;
  readonly onProblems: () => void;
}

/** A document in a file, followed while running; a wrong text keeps the last good version. */
export function fileLayer(options: FileLayerOptions): DocumentLayer {
  const source = documentSource(options);
  return {
    problems: () => source.problems(),
    async *versions(stop): AsyncGenerator<LayerVersion, void, undefined> {
      for await (const { value, eventTimeMs } of source.versions(stop))
        yield { document: value as JsonObject, eventTimeMs };
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

export interface RemoteLayer extends DocumentLayer {
  /** Undefined: the server has none. */
  setDocument(bytes: Uint8Array | undefined): void;
}

/** The MeshConfig that another control plane sends; every field stated here takes precedence. `name` is the server's. */
export function remoteLayer(name: string, check: DocumentCheck, nowMs: () => number): RemoteLayer {
  const wakeup = new Wakeup();
  let pending: LayerVersion | undefined;
  let problems: readonly SourceProblem[] = [];
  return {
    setDocument: (bytes) => {
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
