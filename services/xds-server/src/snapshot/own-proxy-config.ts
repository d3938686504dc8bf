/**
 * The fields of a proxy's own ProxyConfig (PROXY_CONFIG in its node metadata) that its resources depend on. The proxy sends it, so it may contain
 * any value: an unreadable field counts as not set, the others stay in force. differs: istiod refuses the whole stream of such a proxy.
 */
import type { Proxy } from "@flotilla/model";
import { fromJson, type GenMessage, type JsonValue, type Message } from "@flotilla/proto";
import {
  type PrivateKeyProvider,
  PrivateKeyProviderSchema,
  type ProxyConfig_ConnectionSettings,
  ProxyConfig_ConnectionSettingsSchema,
  type ProxyConfig_ProxyHeaders,
  ProxyConfig_ProxyHeadersSchema,
  type Topology,
  TopologySchema,
  type Tracing,
  TracingSchema,
} from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import type { ProxyAnswers } from "./proxy-answers.ts";

interface OwnParts {
  readonly proxyHeaders: ProxyConfig_ProxyHeaders;
  readonly tracing: Tracing;
  readonly gatewayTopology: Topology;
  readonly connectionSettings: ProxyConfig_ConnectionSettings;
  readonly privateKeyProvider: PrivateKeyProvider;
}

type SchemasOf<Parts> = { readonly [Name in keyof Parts]: GenMessage<Parts[Name] & Message> };

const schemas: SchemasOf<OwnParts> = {
  proxyHeaders: ProxyConfig_ProxyHeadersSchema,
  tracing: TracingSchema,
  gatewayTopology: TopologySchema,
  connectionSettings: ProxyConfig_ConnectionSettingsSchema,
  privateKeyProvider: PrivateKeyProviderSchema,
};
const names = Object.keys(schemas) as readonly (keyof OwnParts)[];

export interface ConfigProblem {
  /** `proxyHeaders.server` */
  readonly field: string;
  readonly reason: string;
}

/** Undefined if the proxy was started without a ProxyConfig; the mesh's default applies then. */
export function ownPart<Name extends keyof OwnParts>(
  proxy: Pick<ProxyAnswers, "proxyConfig">,
  name: Name,
): { readonly value: OwnParts[Name] | undefined } | undefined {
  const own = proxy.proxyConfig(name);
  return own && { value: readPart(name, own.value).value };
}

/** Names of the unreadable fields, for log lines. */
export function ownConfigProblems({ metadata }: Pick<Proxy, "metadata">): readonly ConfigProblem[] {
  const config: unknown = metadata["PROXY_CONFIG"];
  if (config === undefined || config === null) return [];
  if (!isObject(config)) return [{ field: "PROXY_CONFIG", reason: "is no object" }];
  return names.flatMap((name) => (Object.hasOwn(config, name) ? readPart(name, config[name]).problems : []));
}

interface ReadPart<Part> {
  readonly value: Part | undefined;
  readonly problems: readonly ConfigProblem[];
}

function readPart<Name extends keyof OwnParts>(name: Name, json: unknown): ReadPart<OwnParts[Name]> {
  if (json === undefined || json === null) return { value: undefined, problems: [] };
  if (!isObject(json)) return { value: undefined, problems: [{ field: name, reason: "is no object" }] };
  const whole = read(name, json);
  if ("value" in whole) return { value: whole.value, problems: [] };
  const problems: ConfigProblem[] = [];
  const readable = Object.entries(json).filter(([field, value]) => {
    const one = read(name, { [field]: value });
    if ("reason" in one) problems.push({ field: `${name}.${field}`, reason: one.reason });
    return "value" in one;
  });
  const rest = read(name, Object.fromEntries(readable));
  // Each field is readable by itself, but not all together: one is given in both spellings.
  if ("reason" in rest) return { value: undefined, problems: [...problems, { field: name, reason: rest.reason }] };
  return { value: rest.value, problems };
}

function read<Name extends keyof OwnParts>(
  name: Name,
  json: Readonly<Record<string, unknown>>,
): { readonly value: OwnParts[Name] } | { readonly reason: string } {
  try {
    const schema = schemas[name] as GenMessage<Message>;
    return { value: fromJson(schema, json as JsonValue, { ignoreUnknownFields: true }) as unknown as OwnParts[Name] };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
