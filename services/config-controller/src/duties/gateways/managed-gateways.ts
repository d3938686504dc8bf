/**
 * A Deployment, a Service and an account for every Gateway of the Gateway API that a class of ours serves, restored whenever they differ
 * from the desired state. The deployed objects belong to their Gateway, and are deleted with it.
 */
import {
  builtInClasses,
  type GatewayClassRules,
  type GatewayClassSettings,
  rulesOfController,
} from "@flotilla/gateway-api";
import {
  type InjectionConfig,
  InjectionError,
  isDeployed,
  type Json,
  keepSelector,
  type ManagedGatewaySettings,
  ownershipOf,
  parametersOf,
  renderGateway,
  type Texts,
  versionMark,
} from "@flotilla/injection";
import { KubeError } from "@flotilla/kube-api";
import {
  type Config,
  effectiveProxyConfig,
  equalJson,
  type JsonObject,
  matchesSelector,
  proxyConfigLayers,
} from "@flotilla/model";
import { ClusterState, type ClusterStateOptions, type GatewayObject, type ListenerSet } from "./cluster-state.ts";
import { type DeployedObject, DeployedObjects } from "./deployed-objects.ts";
import { type ConfigMapName, configMapName, FollowedConfigMaps } from "./followed-config-maps.ts";

export interface ManagedGatewaysOptions extends ClusterStateOptions {
  readonly classes: GatewayClassSettings;
  readonly rendering: ManagedGatewaySettings;
  /** Gateways whose addresses name a Service are served by what is behind it. */
  readonly allowsManual: boolean;
  /** True where a Gateway belongs to this revision, by the label istio.io/rev of itself or else of its namespace. */
  readonly isOurs: (revision: string | undefined) => boolean;
  /** None: all. */
  readonly namespaces: readonly string[];
  /** As it is now; undefined while it is not known. */
  readonly mesh: () => Json | undefined;
  /** The ProxyConfig objects as they are now. */
  readonly proxyConfigs: () => readonly Config[];
  readonly injection: () => InjectionConfig;
}

/** Changes of MeshConfig and templates cause no event here: they are read again after this. */
const againMs = 2_000;

interface Rendered {
  readonly of: readonly unknown[];
  readonly objects: readonly DeployedObject[];
}

export class ManagedGateways {
  readonly #options: ManagedGatewaysOptions;
  readonly #classes: ReadonlyMap<string, GatewayClassRules>;
  readonly #state: ClusterState;
  readonly #deployed: DeployedObjects;
  /** Gateway → why it is not deployed, reported once. */
  readonly #reported = new Map<string, string>();
  /** Gateway → what was rendered for it last, and of what. */
  readonly #rendered = new Map<string, Rendered>();

  constructor(options: ManagedGatewaysOptions) {
    this.#options = options;
    const { api, log, random, classes } = options;
    this.#classes = builtInClasses(classes);
    this.#state = new ClusterState(options);
    const onChange = () => this.#state.changes.wake();
    this.#deployed = new DeployedObjects({ api, fieldManager: classes.defaultController, log, random, onChange });
  }

  /** Runs until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    const failed = Promise.withResolvers<never>();
    const onChange = () => this.#state.changes.wake();
    using parameters = new FollowedConfigMaps({ ...this.#options, onChange, onFailure: failed.reject });
    const working = Promise.all([this.#state.run(stop), this.#deployed.run(stop), this.#deploy(parameters, stop)]);
    await Promise.race([working, failed.promise]);
  }

  async #deploy(parameters: FollowedConfigMaps, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#state.changes.waitShared(stop, againMs);
      const mesh = this.#options.mesh();
      if (stop.aborted || mesh === undefined || !this.#state.isKnown || !this.#deployed.isKnown) continue;
      const gateways = this.#state.gateways.filter((gateway) => this.#rulesOf(gateway) !== undefined);
      this.#forgetOthers(gateways);
      parameters.name(new Set(gateways.flatMap((gateway) => parametersKey(gateway) ?? [])));
      for (const gateway of gateways) {
        if (stop.aborted) return;
        await this.#deployOne(gateway, mesh, parameters);
      }
    }
  }

  /** Undefined: the Gateway is not ours to deploy. */
  #rulesOf({ metadata, spec }: GatewayObject): GatewayClassRules | undefined {
    const { namespaces, isOurs } = this.#options;
    if (namespaces.length > 0 && !namespaces.includes(metadata.namespace)) return undefined;
    if (metadata.deletionTimestamp !== undefined || !isOurs(this.#revisionOf(metadata))) return undefined;
    const controller = this.#state.controllerOf(spec.gatewayClassName);
    const rules =
      controller === undefined
        ? this.#classes.get(spec.gatewayClassName)
        : rulesOfController(this.#classes, controller);
    return rules?.template === undefined ? undefined : rules;
  }

  #revisionOf({ namespace, labels }: GatewayObject["metadata"]): string | undefined {
    const label = "istio.io/rev";
    return labels?.[label] ?? this.#state.namespace(namespace)?.metadata.labels?.[label];
  }

  async #deployOne(gateway: GatewayObject, mesh: Json, parameters: FollowedConfigMaps): Promise<void> {
    const { log, allowsManual } = this.#options;
    const { namespace, name } = gateway.metadata;
    const ownership = ownershipOf(gateway);
    if (!isDeployed(gateway, allowsManual) || ownership === "theirs") return;
    try {
      if (ownership === "take-over") await this.#mark(gateway);
      const overlays = this.#overlaysOf(gateway, parameters);
      if (overlays === undefined) return;
      for (const object of this.#objectsOf(gateway, mesh, overlays)) {
        const { kind, metadata } = object;
        if (await this.#deployed.apply(object, kind === "Deployment" ? keepSelector : undefined))
          log.info("object of a Gateway deployed", { namespace, gateway: name, kind, name: metadata.name });
      }
      this.#report(gateway, undefined);
    } catch (error) {
      if (error instanceof InjectionError) this.#report(gateway, error.message);
      // Changed meanwhile: the new version arrives as a change of its own.
      else if (error instanceof KubeError && error.code === "KUBE_CONFLICT") return;
      else if (error instanceof KubeError) this.#report(gateway, error.message);
      else throw error;
    }
  }

  async #mark(gateway: GatewayObject): Promise<void> {
    const { api, classes } = this.#options;
    const { namespace, name } = gateway.metadata;
    const path = `/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/gateways/${name}`;
    await api.apply(path, versionMark(gateway), { fieldManager: classes.defaultController, force: true });
  }

  /** Defaults of the class, then what the Gateway names. Undefined while that is not known. */
  #overlaysOf(gateway: GatewayObject, parameters: FollowedConfigMaps): readonly Texts[] | undefined {
    const named = parametersOf(gateway);
    if (typeof named === "object")
      throw new InjectionError(
        "INJECT_BAD_GATEWAY",
        `spec.infrastructure.parametersRef: ${named.unknown} is no ConfigMap`,
      );
    const defaults = this.#state.defaultsOf(gateway.spec.gatewayClassName)?.data;
    const key = parametersKey(gateway);
    const own = key === undefined ? undefined : parameters.get(key);
    if (named !== undefined && own === undefined) return undefined;
    if (own === null)
      throw new InjectionError(
        "INJECT_BAD_GATEWAY",
        `spec.infrastructure.parametersRef: there is no ConfigMap ${named}`,
      );
    return [defaults, own?.data].flatMap((texts) => (texts === undefined ? [] : [texts as Texts]));
  }

  #objectsOf(gateway: GatewayObject, mesh: Json, overlays: readonly Texts[]): readonly DeployedObject[] {
    const rules = this.#rulesOf(gateway);
    if (rules === undefined) return [];
    const otherListeners = rules.listenerSets ? this.#listenersOf(gateway) : [];
    const namespace = this.#state.namespace(gateway.metadata.namespace);
    const config = this.#options.injection();
    const objectsOfProxies = this.#options.proxyConfigs();
    const of = [gateway, rules, mesh, namespace, config, ...otherListeners, ...overlays, ...objectsOfProxies];
    const key = `${gateway.metadata.namespace}/${gateway.metadata.name}`;
    const last = this.#rendered.get(key);
    if (last?.of.length === of.length && of.every((one, index) => isSame(one, last.of[index]))) return last.objects;
    const inputs = {
      ...{ gateway, rules, overlays, mesh, otherListeners },
      proxyConfig: proxyConfigOfGateway(gateway, mesh, objectsOfProxies),
      namespaceAnnotations: namespace?.metadata.annotations ?? {},
    };
    const objects = renderGateway(inputs, config, this.#options.rendering) as unknown as readonly DeployedObject[];
    this.#rendered.set(key, { of, objects });
    return objects;
  }

  /** Of the ListenerSets that attach to it from namespaces that it allows; by default it allows none. */
  #listenersOf(gateway: GatewayObject): NonNullable<ListenerSet["spec"]["listeners"]> {
    const { namespace, name } = gateway.metadata;
    return this.#state.listenerSets
      .filter(({ metadata, spec: { parentRef } }) => {
        const own = metadata.namespace ?? "";
        return parentRef.name === name && (parentRef.namespace ?? own) === namespace && this.#allows(gateway, own);
      })
      .flatMap(({ spec }) => spec.listeners ?? []);
  }

  #allows({ metadata, spec }: GatewayObject, namespace: string): boolean {
    const { from = "None", selector } = spec.allowedListeners?.namespaces ?? {};
    if (from === "Same") return namespace === metadata.namespace;
    if (from !== "Selector") return from === "All";
    const labels = this.#state.namespace(namespace)?.metadata.labels;
    return labels !== undefined && selector !== undefined && matchesSelector(selector, labels);
  }

  #forgetOthers(gateways: readonly GatewayObject[]): void {
    const kept = new Set(gateways.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`));
    for (const known of [this.#rendered, this.#reported])
      for (const key of known.keys()) if (!kept.has(key)) known.delete(key);
  }

  /** Each reason once, until it is another or gone. */
  #report({ metadata: { namespace, name } }: GatewayObject, reason: string | undefined): void {
    const gateway = `${namespace}/${name}`;
    if (this.#reported.get(gateway) === reason) return;
    if (reason === undefined) this.#reported.delete(gateway);
    else {
      this.#reported.set(gateway, reason);
      this.#options.log.warn("Gateway not deployed", { gateway, reason });
    }
  }
}

function parametersKey(gateway: GatewayObject): ConfigMapName | undefined {
  const named = parametersOf(gateway);
  if (typeof named !== "string") return undefined;
  return configMapName.write({ namespace: gateway.metadata.namespace ?? "", name: named });
}

/** Selectors of ProxyConfigs find a Gateway's proxies by the label with its name alone, as in istiod. */
function proxyConfigOfGateway({ metadata }: GatewayObject, mesh: Json, objects: readonly Config[]): Json {
  const { namespace, name } = metadata;
  const labels = { "gateway.networking.k8s.io/gateway-name": name };
  const layers = proxyConfigLayers(objects, { rootNamespace: String(mesh["rootNamespace"] ?? ""), namespace, labels });
  return effectiveProxyConfig((mesh["defaultConfig"] ?? {}) as JsonObject, layers);
}

/** MeshConfig and ProxyConfigs are read anew each time: they are the same by what is in them. */
function isSame(a: unknown, b: unknown): boolean {
  return a === b || equalJson(a, b);
}
