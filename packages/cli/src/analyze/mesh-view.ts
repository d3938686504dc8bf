/** The objects that `flotilla analyze` looks at: of files with their places, of a cluster, or of a control plane. */
import { readFileSync } from "node:fs";
import {
  type Analyzer,
  assumedObjects,
  assumedPods,
  type MeshObject,
  meshObject,
  meshSettings,
} from "@flotilla/analysis";
import { kindNamed } from "@flotilla/kinds";
import { isObject, type JsonObject, type KubeObject } from "@flotilla/model";
import { parse } from "yaml";
import { type ApiClient, ApiRefusal, openApi } from "../api/api-client.ts";
import { clusterObjects, openUsersCluster } from "../api/cluster-objects.ts";
import { filesOf, readManifestText } from "../api/manifests.ts";
import type { analyze as definition } from "../definitions/offline.ts";
import type { Invocation } from "../parse/definition.ts";
import { locateObjects, type Place } from "../validate/located-objects.ts";
import { meshDocuments } from "../validate/mesh-config-map.ts";
import type { Finding } from "../validate/reports.ts";
import { servicesOfClusters, servicesOfFiles } from "./remote-services.ts";

type Analyze = Invocation<typeof definition>;

/** Where an object stands; absent for objects of a cluster or a control plane. */
interface Origin {
  readonly file: string;
  placeOf(field: string): Place;
}

export interface ViewedObject {
  readonly object: MeshObject;
  readonly origin?: Origin;
  /** Stands for what every installation has. */
  readonly isAssumed?: true;
}

interface MeshView {
  readonly objects: readonly ViewedObject[];
  /** Places of files that are no YAML or no object. */
  readonly unreadable: readonly Finding[];
  /** Kinds that the control plane does not give. */
  readonly missing: readonly string[];
}

const controlPlaneNamespace = "istio-system";

/** @throws CliError; KubeError */
export async function meshView(invocation: Analyze, analyzers: readonly Analyzer[]): Promise<MeshView> {
  const { operands, options } = invocation;
  const live = await liveObjects(invocation, analyzers);
  const files = operands.paths.flatMap(filesOf).map((file) => fileView(file, options.namespace ?? "default"));
  const remote = servicesOfFiles(invocation).map((object): ViewedObject => ({ object }));
  const objects = [...(live?.objects ?? []), ...files.flatMap((one) => one.objects), ...remote];
  const assumed = [
    ...(live === undefined ? assumedObjects(controlPlaneNamespace) : []),
    ...assumedPods(
      objects.map(({ object }) => object),
      live !== undefined || objects.some(({ object }) => object.key.kind === "Pod"),
    ),
  ];
  const settings = settingsOf(objects, options);
  return {
    objects: [...assumed.map((object): ViewedObject => ({ object, isAssumed: true })), ...objects, ...settings],
    unreadable: files.flatMap((one) => one.unreadable),
    missing: live?.missing ?? [],
  };
}

interface LiveObjects {
  readonly objects: readonly ViewedObject[];
  readonly missing: readonly string[];
}

/** Undefined where files alone are meant. */
async function liveObjects(invocation: Analyze, analyzers: readonly Analyzer[]): Promise<LiveObjects | undefined> {
  const { operands, options, env } = invocation;
  const wanted = new Set([...analyzers.flatMap(({ checks, reads }) => [...checks, ...reads]), "ConfigMap"]);
  if (options.kube) {
    using api = await openUsersCluster(options.kubeconfig, env);
    const comparesClusters = wanted.has("RemoteService");
    if (comparesClusters) wanted.add("Secret");
    const own = await clusterObjects(api, (kind) => wanted.has(kind));
    const remote = comparesClusters ? await servicesOfClusters(invocation, own) : [];
    return { objects: [...own.flatMap(viewed), ...remote.map((object) => ({ object }))], missing: [] };
  }
  const isOfControlPlane = options.server !== undefined || options.url.length > 0 || operands.paths.length === 0;
  return isOfControlPlane ? objectsOfApi(await openApi(options), wanted) : undefined;
}

function viewed(value: unknown): readonly ViewedObject[] {
  const object = meshObject(value);
  return object === undefined ? [] : [{ object }];
}

/** Kinds that this control plane does not have, or does not show to the caller, are missing. */
async function objectsOfApi(api: ApiClient, wanted: ReadonlySet<string>): Promise<LiveObjects> {
  const objects: ViewedObject[] = [];
  const missing: string[] = [];
  for (const kind of [...wanted].filter((name) => kindNamed(name) !== undefined).sort()) {
    try {
      const { items } = await api.call<{ readonly items: readonly { readonly object: KubeObject }[] }>(
        "GET",
        `/flotilla/v1/in-force/${kind}?namespace=`,
      );
      objects.push(...items.flatMap(({ object }) => viewed(object)));
    } catch (error) {
      if (!(error instanceof ApiRefusal) || ![400, 403, 404].includes(error.status)) throw error;
      missing.push(kind);
    }
  }
  return { objects, missing };
}

function fileView(file: string, namespace: string): Pick<MeshView, "objects" | "unreadable"> {
  const name = file === "-" ? "stdin" : file;
  const { objects, syntax } = locateObjects(readManifestText(file));
  const unreadable = syntax.map(
    ({ reason: message, ...place }): Finding => ({ file: name, ...place, severity: "error", message }),
  );
  const found: ViewedObject[] = [];
  for (const { value, placeOf } of objects) {
    const object = meshObject(inNamespace(value, namespace));
    if (object !== undefined) found.push({ object, origin: { file: name, placeOf } });
    else if (!isObject(value) || typeof value["kind"] !== "string")
      unreadable.push({
        file: name,
        ...placeOf(""),
        severity: "error",
        message: "is no object of Kubernetes: it has no kind",
      });
  }
  return { objects: found, unreadable };
}

/** The key of a cluster-scoped object leaves the namespace out. */
function inNamespace(value: unknown, namespace: string): unknown {
  if (!isObject(value) || !isObject(value["metadata"]) || typeof value["metadata"]["namespace"] === "string")
    return value;
  return { ...value, metadata: { ...value["metadata"], namespace } };
}

/** Of a file, else of the ConfigMap of the revision; the last one counts. */
function settingsOf(
  objects: readonly ViewedObject[],
  { mesh: file, revision }: Pick<Analyze["options"], "mesh" | "revision">,
): readonly ViewedObject[] {
  const ofMaps = objects.flatMap(({ object, origin }) => {
    const { value } = object.whole;
    return isObject(value)
      ? meshDocuments(value, revision).map((settings): ViewedObject => {
          const data = settings.kind === "MeshConfig" ? "data.mesh" : "data.meshNetworks";
          const within = (field: string): string => (field.startsWith("spec.") ? data + field.slice(4) : data);
          const place = origin && {
            origin: { file: origin.file, placeOf: (field: string) => origin.placeOf(within(field)) },
          };
          return { object: meshSettings(settings, object.key.namespace), ...place };
        })
      : [];
  });
  if (file === undefined) return ofMaps;
  const document = (parse(readFileSync(file, "utf8")) ?? {}) as JsonObject;
  return [...ofMaps, { object: meshSettings({ kind: "MeshConfig", document }, controlPlaneNamespace) }];
}
