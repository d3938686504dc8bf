/** One of the documents that the mesh's configuration is put together from, wherever it lies. */
import type { JsonObject } from "@flotilla/model";
import type { SourceProblem } from "@flotilla/sources";

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
