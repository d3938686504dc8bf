/** A document in a file, followed while running; a wrong text keeps the last good version. */
import type { JsonObject } from "@flotilla/model";
import { type DocumentCheck, documentSource } from "@flotilla/sources";
import type { DocumentLayer, LayerVersion } from "./document-layer.ts";

export interface FileLayerOptions {
  readonly path: string;
  readonly check: DocumentCheck;
  readonly onProblems: () => void;
}

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
