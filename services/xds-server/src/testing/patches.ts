/** Patches for tests, as users write them. */
import { fromJson, type JsonValue } from "@flotilla/proto";
import { EnvoyFilterSchema } from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";
import { type NoteOutcome, type Patch, type ReadPatches, readPatches } from "../generate/patch/patch.ts";

/** A `configPatches` entry. */
export interface PatchJson {
  readonly applyTo: string;
  readonly match?: object;
  readonly patch: { readonly operation: string; readonly value?: object };
}

export function readPatchesOf(...configPatches: readonly object[]): ReadPatches {
  const spec = fromJson(EnvoyFilterSchema, { configPatches } as unknown as JsonValue);
  return readPatches("EnvoyFilter/shop/f", spec, (text) => text);
}

/** @throws when one cannot be read */
export function aPatch(...configPatches: readonly PatchJson[]): readonly Patch[] {
  const { patches, problems } = readPatchesOf(...configPatches);
  if (problems.length > 0) throw new Error(problems.map(({ path, reason }) => `${path} ${reason}`).join("; "));
  return patches;
}

/** Collects the reasons for which patches could not be used. */
export function noteProblems(problems: string[]): NoteOutcome {
  return ({ index }, reason) => {
    if (reason !== undefined) problems.push(`${index}: ${reason}`);
  };
}
