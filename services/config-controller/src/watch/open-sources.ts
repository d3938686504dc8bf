/**
 * The sources that the settings ask for, the one that wins first. MeshConfig's configSources name them where it has some, as in istiod;
 * else they are CONFIG_DIR and the cluster. Objects written over the API come last of the objects.
 */
import type { OwnCertificate } from "@flotilla/auth/serving";
import { isIstioKind, kindNamed } from "@flotilla/kinds";
import { clusterOf, type KubeApi, openKubeApi } from "@flotilla/kube-api";
import type { Config, JsonObject } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { meshConfigOf, meshNetworksOf } from "@flotilla/registry/config";
import type { Logger } from "@flotilla/runtime";
import type { SourceProblem } from "@flotilla/sources";
import type { Settings } from "../settings.ts";
import type { DurableStore } from "../store/durable/durable-store.ts";
import { apiSource } from "./api-source.ts";
import type { ConfigGroup, ConfigSource } from "./config-source.ts";
import { configAdmission, configDirectory } from "./config-source.ts";
import { ignoredGatewayApi } from "./gateway-api-settings.ts";
import { HeldSource, type HeldSourceOptions } from "./held-source.ts";
import { type KubernetesOptions, kubernetesConfig } from "./kubernetes/kubernetes-source.ts";
import { openMcp } from "./mcp/open-mcp.ts";
import { type McpAddress, readSourceAddresses, type SourceAddress } from "./mcp/source-address.ts";
import { type RemoteLayer, remoteLayer } from "./mesh/document-layers.ts";
import { bootMesh, type MeshOptions, openMeshConfig, openMeshNetworks } from "./mesh/open-mesh.ts";

interface SourcesOptions {
  readonly settings: Settings;
  readonly certificate: OwnCertificate;
  readonly log: Logger;
  readonly onProblems: () => void;
  /** Called for each object of a cluster that is in force and is added, changed or deleted. */
  readonly onKubernetesEvent?: KubernetesOptions["onEvent"];
  /** Called with each object of a cluster as its API server has it; undefined: it is gone. */
  readonly onStored?: KubernetesOptions["onStored"];
  readonly durable?: DurableStore | undefined;
  /** Without it, a directory that has become empty is taken over at once. */
  readonly holding?: {
    readonly published: HeldSourceOptions["published"];
    readonly onHeld: (directory: string, objects: number) => void;
  };
}

/** Waits for what MeshConfig is read from. Rejects with the reason of `stop`. */
export async function openSources(options: SourcesOptions, stop: AbortSignal): Promise<readonly ConfigSource[]> {
  const { settings, durable, onProblems } = options;
  const cluster = await clusterOf(settings);
  const openApi = cluster && (() => openKubeApi(cluster));
  const mesh: MeshOptions = { ...options, openApi };
  const { meshConfigFile, meshNetworksFile, revision } = settings;
  const check = await loadMeshCheck(meshConfigFile ?? meshNetworksFile ?? cluster);
  const checkMesh = (value: unknown) => check(meshConfigOf(value as JsonObject));
  const checkNetworks = (value: unknown) => check(meshNetworksOf(value as JsonObject));
  const booted = await bootMesh(mesh, checkMesh, stop);
  const { sources: named, findings } = readSourceAddresses(booted, isKnown);
  const remote = new Map(
    named.flatMap((at) => (at.type === "xds" && at.withMesh ? [[at, remoteLayer(at.name, checkMesh, Date.now)]] : [])),
  );
  const objects =
    named.length + findings.length === 0
      ? ownSources(options, openApi)
      : namedSources(named, { ...options, openApi, remote });
  const file = "MeshConfig";
  const wrong = findings.map((finding) => ({ file, line: 0, object: "MeshConfig//mesh", ...finding }));
  return [
    ...(wrong.length === 0 ? [] : [problemsOnly("configSources", wrong)]),
    ...onceEach(objects),
    ...(durable === undefined ? [] : [apiSource(durable, revision)]),
    openMeshConfig(mesh, checkMesh, booted, [...remote.values()]),
    openMeshNetworks({ ...mesh, onProblems }, checkNetworks),
  ];
}

interface NamedOptions extends SourcesOptions {
  readonly openApi: (() => KubeApi) | undefined;
  readonly remote: ReadonlyMap<SourceAddress, RemoteLayer>;
}

function ownSources(options: SourcesOptions, openApi: (() => KubeApi) | undefined): readonly ConfigSource[] {
  const { configDir } = options.settings;
  return [...(configDir === undefined ? [] : [directory(configDir, options)]), ...kubernetes(options, openApi)];
}

function namedSources(named: readonly SourceAddress[], options: NamedOptions): readonly ConfigSource[] {
  const { settings, openApi, log, remote } = options;
  if (settings.configDir !== undefined) log.warn("CONFIG_DIR is not read: MeshConfig's configSources name the sources");
  const openNamed = (at: SourceAddress): readonly ConfigSource[] => {
    if (at.type === "directory") return [directory(at.path, options)];
    if (at.type === "xds") return [mcp(at, options, remote.get(at))];
    const reason = "configSources name it, and there is none: set CLUSTER_KUBECONFIG";
    return openApi === undefined
      ? [problemsOnly("kubernetes", [{ file: "", line: 0, object: "k8s://", reason }])]
      : kubernetes(options, openApi);
  };
  const hasCluster = named.some(({ type }) => type === "kubernetes");
  // Namespaces, Secrets and the like are the cluster's, wherever configuration comes from.
  return [...named.flatMap(openNamed), ...(hasCluster ? [] : kubernetes(options, openApi, configurationGroups))];
}

const configurationGroups = [
  "networking.istio.io",
  "security.istio.io",
  "telemetry.istio.io",
  "extensions.istio.io",
  "gateway.networking.k8s.io",
  "gateway.networking.x-k8s.io",
  "inference.networking.k8s.io",
  "networking.k8s.io",
].map((group) => `*.${group}`);

function directory(path: string, { settings: { revision }, log, onProblems, holding }: SourcesOptions): ConfigSource {
  const source = configDirectory({ path, admission: configAdmission(), revision, onProblems });
  if (holding === undefined) return source;
  const onHeld = (objects: number) => holding.onHeld(path, objects);
  return new HeldSource(source, { path, published: holding.published, log, onProblems, onHeld });
}

function mcp(
  at: McpAddress,
  { settings, certificate, log, onProblems }: SourcesOptions,
  mesh: RemoteLayer | undefined,
): ConfigSource {
  const document = mesh && { typeUrl: typeUrl.meshConfig, onDocument: mesh.setDocument };
  const common = { settings, certificate, log, onProblems };
  return openMcp(at, { ...common, admission: configAdmission(), ...(document && { document }) });
}

function kubernetes(
  { settings, log, onProblems, onKubernetesEvent: onEvent, onStored }: SourcesOptions,
  openApi: (() => KubeApi) | undefined,
  alsoIgnored: readonly string[] = [],
): readonly ConfigSource[] {
  if (openApi === undefined) return [];
  const { revision, watchedNamespaces: namespaces, ignoredResources, includedResources: included } = settings;
  const ignored = [...ignoredResources, ...ignoredGatewayApi(settings), ...alsoIgnored];
  const scope = { namespaces, ignored, included };
  const common = { admission: configAdmission(), revision, log, nowMs: Date.now, random: Math.random, onProblems };
  return [kubernetesConfig({ api: openApi(), scope, ...common, onEvent, ...(onStored && { onStored }) })];
}

/** An entry may stand twice. */
function onceEach(sources: readonly ConfigSource[]): readonly ConfigSource[] {
  return [...new Map(sources.map((source) => [source.name, source])).values()];
}

function isKnown(name: string): boolean {
  const kind = kindNamed(name);
  return kind !== undefined && isIstioKind(kind);
}

/** The messages cost a third of a second and 50 MB to load: not paid by a mesh without documents. */
async function loadMeshCheck(
  place: unknown,
): Promise<(config: Config) => readonly { field: string; reason: string }[]> {
  if (place === undefined) return () => [];
  return (await import("./mesh/mesh-check.ts")).checkMeshDocument;
}

/** Stands for a source that cannot be opened: it has nothing, and reports why. */
function problemsOnly(name: string, problems: readonly SourceProblem[]): ConfigSource {
  return {
    name,
    problems: () => problems,
    async *groups(): AsyncGenerator<ConfigGroup, void, undefined> {
      yield { changes: [], eventTimeMs: Date.now() };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}
