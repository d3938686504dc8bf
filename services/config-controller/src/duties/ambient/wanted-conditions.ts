/** The conditions that objects of a cluster should have for the ambient mesh: pure, of what the cluster has now. */
import {
  type AmbientCondition,
  type BindingLookups,
  bindService,
  bindWorkload,
  entryVisibility,
  gatewayNameLabel,
  ingressUsesWaypoint,
  policyTargets,
  serviceConditions,
  translatePolicy,
  type Waypoint,
  waypointCondition,
  waypointOf,
  workloadConditions,
  ztunnelCondition,
} from "@flotilla/ambient";
import type { KubernetesGatewaySpec } from "@flotilla/gateway-api";
import { type Config, type Labels, ownValue } from "@flotilla/model";
import { fromJson, type JsonValue, ProtoError } from "@flotilla/proto";
import { type ServiceEntryVisibility, ServiceEntryVisibilitySchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import {
  type AuthorizationPolicy,
  AuthorizationPolicySchema,
} from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import type { ClusterObject, ClusterObjects, Collection } from "./cluster-objects.ts";

export interface MeshSettings {
  readonly rootNamespace: string;
  readonly visibility: ServiceEntryVisibility | undefined;
}

interface ConditionSettings extends MeshSettings {
  /** True where ztunnels are sent dry-run policies. */
  readonly sendsDryRun: boolean;
}

/** Of MeshConfig. */
export function meshSettings(mesh: { readonly [name: string]: unknown }): MeshSettings {
  const visibility = mesh["serviceEntryVisibility"];
  return {
    rootNamespace: String(mesh["rootNamespace"] ?? "istio-system"),
    visibility: visibility === undefined ? undefined : read(ServiceEntryVisibilitySchema, visibility),
  };
}

const read = (schema: typeof ServiceEntryVisibilitySchema, value: unknown) =>
  fromJson(schema, value as JsonValue, { ignoreUnknownFields: true });

export class WantedConditions {
  readonly #objects: ClusterObjects;
  readonly #mesh: ConditionSettings;
  readonly #waypoints = new Map<string, Waypoint | undefined>();
  #entries: ReadonlyMap<string, string> | undefined;

  constructor(objects: ClusterObjects, mesh: ConditionSettings) {
    this.#objects = objects;
    this.#mesh = mesh;
  }

  /** Undefined: the object as it is has no conditions to report. */
  of(collection: Collection, object: ClusterObject): readonly AmbientCondition[] | undefined {
    switch (collection) {
      case "services":
        return serviceConditions({ binding: this.#binding(collection, object), ...this.#ingress(object) });
      case "entries":
        return this.#ofEntry(object);
      case "workloadEntries":
        return this.#ofWorkloadEntry(object);
      case "policies":
        return this.#ofPolicy(object);
      default:
        return undefined;
    }
  }

  /** A machine that is itself part of a waypoint is behind none. */
  #ofWorkloadEntry(object: ClusterObject): readonly AmbientCondition[] {
    const namespace = namespaceOf(object);
    const { labels: stated } = (object.spec ?? {}) as { readonly labels?: Labels };
    const labels = { ...stated, ...object.metadata.labels };
    const gateway = ownValue(labels, gatewayNameLabel);
    if (gateway !== undefined && this.#waypoint(`${namespace}/${gateway}`) !== undefined) return [];
    return workloadConditions(bindWorkload({ labels }, namespace, this.#lookups(namespace)));
  }

  /** None of an entry that no caller sees, and of one whose hosts are those of older ones. */
  #ofEntry(object: ClusterObject): readonly AmbientCondition[] {
    const hosts = hostsOf(object);
    const visibility = this.#mesh.visibility === undefined ? undefined : this.#visibilityIn(namespaceOf(object));
    if (visibility === "hidden" || (hosts.length > 0 && !hosts.some((host) => this.#isServed(object, host)))) return [];
    const binding = this.#binding("entries", object);
    const { "istio.io/connect-strategy": strategy = "" } = object.metadata.annotations ?? {};
    const racesConnections = strategy.toUpperCase() === "RACE_FIRST_TCP_CONNECT";
    return serviceConditions({ binding, ...this.#ingress(object), entry: { hosts, visibility, racesConnections } });
  }

  #isServed(object: ClusterObject, host: string): boolean {
    this.#entries ??= oldestEntries(this.#objects.all("entries"));
    const served = this.#entries.get(`${namespaceOf(object)}/${host}`);
    return served === undefined || served === object.metadata.name;
  }

  #ofPolicy(object: ClusterObject): readonly AmbientCondition[] | undefined {
    const { rootNamespace, sendsDryRun } = this.#mesh;
    const policy = decodedPolicy(object);
    if (policy === undefined) return undefined;
    const targets = policyTargets(policy.spec, policy.key.namespace, {
      rootNamespace,
      controllerOf: (name) => this.#classSpec(name)?.controllerName,
      isWaypoint: (namespace, name) => this.#waypoint(`${namespace}/${name}`) !== undefined,
      bindingOf: (kind, namespace, name) => {
        const collection = kind === "Service" ? "services" : "entries";
        const target = this.#objects.get(collection, `${namespace}/${name}`);
        return target && this.#binding(collection, target);
      },
    });
    const translated = translatePolicy(policy, { rootNamespace, sendsDryRun });
    return [...ztunnelCondition(translated), ...waypointCondition(targets)];
  }

  #binding(collection: "services" | "entries", object: ClusterObject) {
    const namespace = namespaceOf(object);
    const isLimited = collection === "entries" && this.#visibilityIn(namespace) === "namespace";
    return bindService(labelled(object), namespace, this.#lookups(namespace), isLimited);
  }

  #ingress(object: ClusterObject) {
    const { labels } = this.#namespace(namespaceOf(object));
    return { ingressUsesWaypoint: ingressUsesWaypoint(object.metadata.labels ?? {}, labels) };
  }

  #visibilityIn(namespace: string) {
    return entryVisibility(this.#mesh.visibility, namespace, this.#namespace(namespace).labels);
  }

  #lookups(namespace: string): BindingLookups {
    return {
      waypoint: (name) => this.#waypoint(`${name.namespace}/${name.name}`),
      home: this.#namespace(namespace),
    };
  }

  #namespace(name: string) {
    return labelled(this.#objects.get("namespaces", name));
  }

  /** Looked at once: many objects name one waypoint. */
  #waypoint(key: string): Waypoint | undefined {
    if (this.#waypoints.has(key)) return this.#waypoints.get(key);
    const gateway = this.#objects.get("gateways", key);
    const found = gateway && this.#asWaypoint(gateway);
    this.#waypoints.set(key, found);
    return found;
  }

  #asWaypoint(gateway: ClusterObject): Waypoint | undefined {
    const config = configOf<KubernetesGatewaySpec>("KubernetesGateway", gateway, gateway.spec ?? {});
    const className = config.spec.gatewayClassName ?? "";
    const { controllerName = "" } = this.#classSpec(className) ?? {};
    return waypointOf(config, { ...labelled(this.#objects.get("classes", className)), controllerName }, "");
  }

  #classSpec(name: string): { readonly controllerName?: string } | undefined {
    return this.#objects.get("classes", name)?.spec;
  }
}

function hostsOf({ spec = {} }: ClusterObject): readonly string[] {
  return (spec as { readonly hosts?: readonly string[] }).hosts ?? [];
}

/** The name of the oldest ServiceEntry by `namespace/host`: of one host in a namespace ztunnels are sent one service. */
function oldestEntries(entries: Iterable<ClusterObject>): ReadonlyMap<string, string> {
  const found = new Map<string, { readonly name: string; readonly since: string }>();
  for (const entry of entries) {
    const { name = "", creationTimestamp: since = "" } = entry.metadata;
    for (const host of hostsOf(entry)) {
      const key = `${namespaceOf(entry)}/${host}`;
      const other = found.get(key);
      if (other === undefined || since < other.since) found.set(key, { name, since });
    }
  }
  return new Map([...found].map(([key, { name }]) => [key, name]));
}

function labelled(object: ClusterObject | undefined) {
  return { labels: object?.metadata.labels ?? {}, annotations: object?.metadata.annotations ?? {} };
}

function namespaceOf({ metadata }: ClusterObject): string {
  return metadata.namespace ?? "";
}

function configOf<Spec>(kind: string, object: ClusterObject, spec: Spec): Config<Spec> {
  const key = { kind, namespace: namespaceOf(object), name: object.metadata.name ?? "" };
  return { key, ...labelled(object), creationTimeMs: 0, spec, status: object.status };
}

/** Undefined for an object of a wrong form, which its own conditions report. */
function decodedPolicy(object: ClusterObject): Config<AuthorizationPolicy> | undefined {
  try {
    const spec = fromJson(AuthorizationPolicySchema, (object.spec ?? {}) as JsonValue, { ignoreUnknownFields: true });
    return configOf("AuthorizationPolicy", object, spec);
  } catch (error) {
    if (!(error instanceof ProtoError)) throw error;
    return undefined;
  }
}
