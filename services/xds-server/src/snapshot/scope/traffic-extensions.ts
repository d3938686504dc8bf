/**
 * The WasmPlugins and TrafficExtensions that hold for a proxy: those of its namespace and of the root namespace that select it or name
 * its Gateway. A WasmPlugin counts as a TrafficExtension of a name that no object can have.
 */
import { type Config, compareByAge, type Service } from "@flotilla/model";
import { create } from "@flotilla/proto";
import {
  type LuaConfig,
  type TrafficExtension,
  type TrafficSelector,
  type WasmConfig,
  WasmConfigSchema,
} from "@flotilla/proto/extensions/v1alpha1/traffic_extension_pb";
import { PluginType, type WasmPlugin } from "@flotilla/proto/extensions/v1alpha1/wasm_pb";
import { byNamespace } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { attachedPolicies, isForWaypoint, type PolicySubject, subjectService } from "./policy-targets.ts";

export const wasmPluginsByNamespace = byNamespace<WasmPlugin>("WasmPlugin");
export const trafficExtensionsByNamespace = byNamespace<TrafficExtension>("TrafficExtension");

/** The order in a chain: before tokens are checked, before policies decide, after both. */
export type ExtensionPhase = "authn" | "authz" | "stats" | "unspecified";

export interface Extension {
  /** Of the filter and of its configuration over ECDS. */
  readonly resourceName: string;
  readonly namespace: string;
  /** `NAMESPACE.NAME`, as the plugin is called in Envoy. */
  readonly pluginName: string;
  /** `Kind/namespace/name` of the object. */
  readonly object: string;
  readonly resourceVersion: string;
  readonly phase: ExtensionPhase;
  readonly match: readonly TrafficSelector[];
  readonly config: WasmExtension | LuaExtension;
}

interface WasmExtension {
  readonly kind: "wasm";
  readonly layer: "http" | "network";
  readonly wasm: WasmConfig;
  /** With a scheme; undefined when it is no URL that code could be fetched from. */
  readonly url: string | undefined;
}

interface LuaExtension {
  readonly kind: "lua";
  readonly layer: "http";
  readonly code: string;
}

/** Numbers of WasmPlugin's phases and TrafficExtension's are the same. */
const phases: readonly ExtensionPhase[] = ["unspecified", "authn", "authz", "stats"];

/** By priority, the highest first; equal ones by namespace (the proxy's own first), age and name. */
export const trafficExtensions = query<readonly Extension[], PolicySubject>(
  "traffic-extensions",
  (view, subject) => {
    const service = view.proxy.type === "waypoint" ? subjectService(view, subject) : undefined;
    const homes = [
      view.proxy.namespace,
      ...(service === undefined ? [] : [service.namespace]),
      view.mesh.rootNamespace,
    ];
    const all = [...new Set(homes)].flatMap((namespace) => extensionsOf(view, namespace, service));
    return all.toSorted((a, b) => b.priority - a.priority).map(({ extension }) => extension);
  },
  (a, b) => a.length === b.length && a.every((extension, i) => isSame(extension, b[i])),
);

function isSame(a: Extension, b: Extension | undefined): boolean {
  return (
    a.resourceName === b?.resourceName &&
    a.resourceVersion === b.resourceVersion &&
    a.phase === b.phase &&
    a.match === b.match &&
    a.config.kind === b.config.kind &&
    (a.config.kind === "wasm" && b.config.kind === "wasm"
      ? a.config.wasm === b.config.wasm
      : a.config.kind === "lua" && b.config.kind === "lua" && a.config.code === b.config.code)
  );
}

interface Ranked {
  readonly priority: number;
  readonly extension: Extension;
}

function extensionsOf(view: View, namespace: string, service: Service | undefined): readonly Ranked[] {
  const plugins = view.row(wasmPluginsByNamespace, namespace).map(translated);
  const objects = [...plugins, ...view.row(trafficExtensionsByNamespace, namespace)];
  const ordered = objects.toSorted(compareByAge);
  const attached =
    view.proxy.type === "waypoint"
      ? ordered.filter((config) => isForWaypoint(view, config, service))
      : attachedPolicies(view, ordered);
  return attached.flatMap((config) => {
    const extension = extensionOf(config);
    return extension === undefined ? [] : [{ priority: config.spec.priority ?? Number.NEGATIVE_INFINITY, extension }];
  });
}

type Extending = Config<
  Pick<TrafficExtension, "selector" | "targetRefs" | "phase" | "priority" | "match" | "filterConfig">
>;

const marker = "~istio-translated-wasmplugin";
const translations = new WeakMap<Config<WasmPlugin>, Extending>();

/** The same for the same object, so that what follows from it is found again. */
function translated(plugin: Config<WasmPlugin>): Extending {
  const known = translations.get(plugin);
  if (known !== undefined) return known;
  const { key, spec } = plugin;
  const { selector, targetRef, targetRefs, phase, priority, match } = spec;
  const targets = targetRef !== undefined && targetRefs.length === 0 ? [targetRef] : targetRefs;
  const { url, sha256, imagePullPolicy, imagePullSecret, verificationKey, pluginConfig, pluginName } = spec;
  const { failStrategy, vmConfig, type } = spec;
  const image = { url, sha256, imagePullPolicy, imagePullSecret, verificationKey };
  const wasm = create(WasmConfigSchema, {
    ...image,
    pluginName,
    failStrategy,
    type,
    ...(pluginConfig && { pluginConfig }),
    ...(vmConfig && { vmConfig }),
  });
  const made: Extending = {
    ...plugin,
    key: { ...key, name: `${key.name}${marker}` },
    spec: {
      selector,
      targetRefs: targets,
      phase: phase as number,
      priority,
      match: match as unknown as TrafficSelector[],
      filterConfig: { case: "wasm", value: wasm },
    },
  };
  translations.set(plugin, made);
  return made;
}

/** Undefined for objects that hold no code. */
function extensionOf({ key, resourceVersion = "", spec }: Extending): Extension | undefined {
  const config = codeOf(spec.filterConfig);
  if (config === undefined) return undefined;
  const { namespace, name } = key;
  const object = name.endsWith(marker)
    ? `WasmPlugin/${namespace}/${name.slice(0, -marker.length)}`
    : `TrafficExtension/${namespace}/${name}`;
  return {
    resourceName: `extensions.istio.io/trafficextension/${namespace}.${name}`,
    namespace,
    pluginName: `${namespace}.${name}`,
    object,
    resourceVersion,
    phase: phases[spec.phase] ?? "unspecified",
    match: spec.match,
    config,
  };
}

/** The limit of Lua's own schema. */
const maxCodeBytes = 65_536;

function codeOf({ case: kind, value }: TrafficExtension["filterConfig"]): Extension["config"] | undefined {
  if (kind === "wasm") {
    if (value.url === "") return undefined;
    const layer = value.type === PluginType.NETWORK ? "network" : "http";
    return { kind, layer, wasm: value, url: moduleUrl(value.url) };
  }
  return kind === "lua" ? luaOf(value) : undefined;
}

/** An image without a scheme is of a registry; a scheme is written small, as Go does it. */
function moduleUrl(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u0020\u007f]|%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  const [, scheme, rest = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/.exec(text) ?? [];
  if (scheme !== undefined) return `${scheme.toLowerCase()}:${rest}`;
  // A colon before the first slash would end a scheme, and this is none.
  return text.split("/", 1)[0]?.includes(":") === true ? undefined : `oci://${text}`;
}

function luaOf({ inlineCode: code }: LuaConfig): LuaExtension | undefined {
  const isEmptyOrLong = code === "" || new TextEncoder().encode(code).length > maxCodeBytes;
  return isEmptyOrLong ? undefined : { kind: "lua", layer: "http", code };
}
