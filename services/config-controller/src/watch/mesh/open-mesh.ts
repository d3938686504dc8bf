/** The mesh documents of the places that the settings ask for, and what of them must be known before anything is followed. */
import { readFile } from "node:fs/promises";
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import { type Config, equalJson, type JsonObject } from "@flotilla/model";
import { meshConfigKey, meshConfigOf, meshNetworksKey, meshNetworksOf } from "@flotilla/registry/config";
import { backoff, delay, type Logger } from "@flotilla/runtime";
import { type DocumentCheck, readDocumentAside, type SourceProblem } from "@flotilla/sources";
import type { Settings } from "../../settings.ts";
import type { ConfigSource } from "../config-source.ts";
import { configMapDocument, configMapLayer } from "./config-map-layer.ts";
import type { DocumentLayer } from "./document-layers.ts";
import { fileLayer } from "./document-layers.ts";
import { type MeshPlace, meshConfigPlaces, meshNetworksPlaces } from "./mesh-places.ts";
import { meshSource } from "./mesh-source.ts";

export interface MeshOptions {
  readonly settings: Settings;
  /** A connection to the cluster for each who asks; undefined without a cluster. */
  readonly openApi: (() => KubeApi) | undefined;
  readonly log: Logger;
  readonly onProblems: () => void;
}

/** The MeshConfig as it is now, defaults included. Waits for an API server that is away. Rejects with the reason of `stop`. */
export async function bootMesh(options: MeshOptions, check: DocumentCheck, stop: AbortSignal): Promise<JsonObject> {
  const documents: JsonObject[] = [];
  for (const place of meshConfigPlaces(options.settings, options.openApi !== undefined))
    documents.push(await documentAt(place, options, check, stop));
  return meshConfigOf(...documents).spec;
}

export function openMeshConfig(
  options: MeshOptions,
  check: DocumentCheck,
  booted: JsonObject,
  remote: readonly DocumentLayer[],
): ConfigSource {
  const own = meshConfigPlaces(options.settings, options.openApi !== undefined);
  return meshSource({
    ...{ name: "mesh", key: meshConfigKey, toConfig: meshConfigOf, onProblems: options.onProblems },
    layers: [...remote, ...own.map((place) => layerAt(place, options, check))],
    remarks: (config) => remarksOn(config as Config<JsonObject>, booted),
  });
}

export function openMeshNetworks(options: MeshOptions, check: DocumentCheck): ConfigSource {
  const own = meshNetworksPlaces(options.settings, options.openApi !== undefined);
  return meshSource({
    ...{ name: "networks", key: meshNetworksKey, toConfig: meshNetworksOf, onProblems: options.onProblems },
    layers: own.map((place) => layerAt(place, options, check)),
  });
}

function layerAt(place: MeshPlace, { openApi, log, onProblems }: MeshOptions, check: DocumentCheck): DocumentLayer {
  if (place.type === "file") return fileLayer({ path: place.path, check, onProblems });
  if (openApi === undefined) throw new RangeError(`no cluster for ${place.name}`);
  return configMapLayer({ ...place, api: openApi(), check, log, nowMs: Date.now, random: Math.random, onProblems });
}

async function documentAt(
  place: MeshPlace,
  { openApi, log }: MeshOptions,
  check: DocumentCheck,
  stop: AbortSignal,
): Promise<JsonObject> {
  if (place.type === "file") {
    // The file's follower reports what is wrong with it.
    const text = await readFile(place.path, "utf8").catch(() => "");
    const { value = {} } = await readDocumentAside(place.path, text, check);
    return value as JsonObject;
  }
  using api = openApi?.();
  for (const waitMs of backoff({ firstMs: 100, maxMs: 5_000, random: Math.random })) {
    stop.throwIfAborted();
    try {
      return api === undefined ? {} : await configMapDocument({ ...place, api }, check);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      log.warn("waiting for the mesh configuration", {
        config: `${place.namespace}/${place.name}`,
        reason: error.message,
      });
    }
    await delay(waitMs, stop);
  }
  throw stop.reason;
}

/** The sources are opened once. */
function remarksOn({ spec }: Config<JsonObject>, booted: JsonObject): readonly SourceProblem[] {
  if (equalJson(spec["configSources"] ?? [], booted["configSources"] ?? [])) return [];
  const reason = "has changed, which is taken into use when config-controller starts again";
  return [{ file: "", line: 0, object: "MeshConfig//mesh", field: "configSources", reason }];
}
