/** Resources that Flotilla sends for a mesh: from files, from the objects of a cluster, or by a control plane that runs. Nothing is written. */
import { readFileSync } from "node:fs";
import { isReadKind, kindOf } from "@flotilla/kinds";
import { type JsonObject, type KubeObject, type NodeInfo, parseNode } from "@flotilla/model";
import { bytesToJson, type JsonObject as ResourceJson, typeUrl } from "@flotilla/proto";
import { createMesh } from "@flotilla/registry";
import { nameSet } from "@flotilla/xds";
import {
  bootstrapEndpointNames,
  clusterNames,
  endpointNames,
  extensionNames,
  hasScopedRoutes,
  routeNames,
  secretNames,
  shortTypes,
} from "@flotilla/xds/client";
import { Core } from "@flotilla/xds-server/core";
import { parseFeatures } from "@flotilla/xds-server/features";
import { parse } from "yaml";
import { clusterObjects, openUsersCluster } from "../api/cluster-objects.ts";
import { describe, readManifests } from "../api/manifests.ts";
import { CliError } from "../errors.ts";
import { parseEnvFile } from "../options.ts";
import type { MadeFrom } from "./objects.ts";

interface MeshOptions {
  readonly mesh: string | undefined;
  readonly networks: string | undefined;
  readonly envFile: string | undefined;
}

/** @throws CliError CLI_USAGE, CLI_REFUSED */
export function coreFromFiles(files: readonly string[], options: MeshOptions): Core {
  const objects = readManifests(files).map((manifest) => {
    const { apiVersion, kind, metadata } = manifest.object;
    if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof metadata !== "object")
      throw new CliError("CLI_REFUSED", `${manifest.place}: ${describe(manifest)} is no object of Kubernetes`);
    return manifest.object as unknown as KubeObject;
  });
  return coreOf(objects, document(options.mesh), options);
}

/** Kinds that the cluster does not serve have no objects. @throws CliError CLI_USAGE; KubeError */
export async function coreFromCluster(
  kubeconfig: string | undefined,
  env: NodeJS.ProcessEnv,
  options: MeshOptions,
): Promise<Core> {
  using api = await openUsersCluster(kubeconfig, env);
  const objects = await clusterObjects(api, isReadKind);
  const mesh = options.mesh === undefined ? meshOfCluster(objects) : document(options.mesh);
  return coreOf(objects, mesh, options);
}

/** `istio-system/istio`, as istiod reads it. */
function meshOfCluster(objects: readonly KubeObject[]): JsonObject {
  const found = objects.find(
    ({ kind, metadata }) => kind === "ConfigMap" && metadata.namespace === "istio-system" && metadata.name === "istio",
  ) as { readonly data?: { readonly mesh?: string } } | undefined;
  return (parse(found?.data?.mesh ?? "") ?? {}) as JsonObject;
}

/** @throws CliError CLI_REFUSED with the objects that the core does not take */
function coreOf(objects: readonly KubeObject[], mesh: JsonObject, { networks, envFile }: MeshOptions): Core {
  const settings = settingsOf(envFile);
  const core = new Core({ features: parseFeatures(settings) });
  const put = objects.filter((object) => kindOf(object) !== undefined).map(withAge);
  const refused = core.apply(createMesh(settings).apply({ put, mesh, networks: document(networks) }));
  if (refused.length > 0) {
    const reasons = refused.map(({ error }) => (error instanceof Error ? error.message : String(error)));
    throw new CliError("CLI_REFUSED", reasons.join("\n"));
  }
  return core;
}

function settingsOf(envFile: string | undefined): Readonly<Record<string, string>> {
  return envFile === undefined ? {} : parseEnvFile(readFileSync(envFile, "utf8"));
}

/** True where the settings let a control plane serve ztunnels and waypoints. */
export function servesAmbient({ envFile }: MeshOptions): boolean {
  return parseFeatures(settingsOf(envFile)).ambient;
}

/** Objects of files that report no age are equally old, and ordered by name. */
function withAge(object: KubeObject): KubeObject {
  const { metadata } = object;
  return metadata.creationTimestamp === undefined
    ? { ...object, metadata: { ...metadata, creationTimestamp: "2026-01-01T00:00:00Z" } }
    : object;
}

function document(file: string | undefined): JsonObject {
  return file === undefined ? {} : ((parse(readFileSync(file, "utf8")) ?? {}) as JsonObject);
}

/** Resources by short type (`cds`) and name, as canonical JSON. A type that is not answered has no entry. */
export type Capture = ReadonlyMap<string, ReadonlyMap<string, ResourceJson>>;

/**
 * Resources that the control plane's pure core sends to a proxy, in the order in which a client learns the names.
 * @param targets the listeners that a gRPC program without a proxy asks for
 * @throws NodeError
 */
export function captureFromCore(core: Core, info: NodeInfo, targets: readonly string[] = []): Capture {
  const subject = subjectOf(core, info);
  const { proxy } = subject;
  const captured = new Map<string, ReadonlyMap<string, ResourceJson>>();
  const ask = (short: string, type: string, names?: readonly string[]) => {
    if (names !== undefined && names.length === 0) return new Map<string, ResourceJson>();
    const set = core.resources(subject, type, names && nameSet(names));
    const found = new Map(
      [...(set?.byName ?? [])].map(([name, { bytes }]) => [name, bytesToJson(type, bytes) as ResourceJson]),
    );
    if (set !== undefined) captured.set(short, found);
    return found;
  };
  if (proxy.generator === "grpc") {
    const listeners = [...ask("lds", typeUrl.listener, targets).values()];
    const routes = [...ask("rds", typeUrl.route, routeNames(listeners)).values()];
    const clusters = [...ask("cds", typeUrl.cluster, clusterNames([...listeners, ...routes])).values()];
    ask("eds", typeUrl.endpoint, endpointNames(clusters));
    return captured;
  }
  if (proxy.type === "ztunnel") {
    ask("wds", typeUrl.address);
    ask("wads", typeUrl.authorization);
    return captured;
  }
  const clusters = [...ask("cds", typeUrl.cluster).values()];
  ask("eds", typeUrl.endpoint, [...bootstrapEndpointNames(proxy.metadata), ...endpointNames(clusters)]);
  const listeners = [...ask("lds", typeUrl.listener).values()];
  ask("nds", typeUrl.nameTable);
  const everything = [...clusters, ...listeners];
  ask("rds", typeUrl.route, routeNames(everything));
  if (hasScopedRoutes(listeners)) ask("srds", typeUrl.scopedRoute);
  ask("ecds", typeUrl.extensionConfig, extensionNames(everything));
  ask("sds", typeUrl.secret, secretNames(everything));
  return captured;
}

/** istiod is asked as a caller that proved who it is. */
function subjectOf(core: Core, info: NodeInfo) {
  return { ...core.subjectOf(parseNode(info)), isProven: true };
}

/** Finds the objects that the core computed a resource of the proxy from. @throws NodeError */
export function madeFromCore(core: Core, info: NodeInfo): MadeFrom {
  const subject = subjectOf(core, info);
  return (short, name) => {
    const type = shortTypes[short];
    const inputs = type === undefined ? [] : core.explain(subject, type, name);
    return inputs.flatMap((input) => core.objectsOf(input)).map(({ object }) => object);
  };
}
