/** ECDS: the Wasm modules of a proxy's WasmPlugins and TrafficExtensions. An agent fetches a module and hands Envoy a file. */
import { compareText, parseCredentialName, secretName } from "@flotilla/model";
import {
  type Any,
  AnySchema,
  create,
  isJsonObject,
  type JsonValue,
  type MessageInitShape,
  pack,
  StringValueSchema,
  typeUrl,
} from "@flotilla/proto";
import type { AsyncDataSourceSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  type TypedExtensionConfig,
  TypedExtensionConfigSchema,
} from "@flotilla/proto/envoy/config/core/v3/extension_pb";
import { RBACSchema as HttpRbacSchema } from "@flotilla/proto/envoy/extensions/filters/http/rbac/v3/rbac_pb";
import { WasmSchema as HttpWasmSchema } from "@flotilla/proto/envoy/extensions/filters/http/wasm/v3/wasm_pb";
import { RBACSchema as NetworkRbacSchema } from "@flotilla/proto/envoy/extensions/filters/network/rbac/v3/rbac_pb";
import { WasmSchema as NetworkWasmSchema } from "@flotilla/proto/envoy/extensions/filters/network/wasm/v3/wasm_pb";
import { FailurePolicy, type PluginConfig, PluginConfigSchema } from "@flotilla/proto/envoy/extensions/wasm/v3/wasm_pb";
import type { WasmConfig } from "@flotilla/proto/extensions/v1alpha1/traffic_extension_pb";
import { EnvValueSource, FailStrategy, PullPolicy } from "@flotilla/proto/extensions/v1alpha1/wasm_pb";
import { serviceText } from "../../snapshot/row-index.ts";
import { pullSecret } from "../../snapshot/scope/cluster-secrets.ts";
import { type Extension, trafficExtensions } from "../../snapshot/scope/traffic-extensions.ts";
import { waypointServices } from "../../snapshot/scope/waypoint-services.ts";
import type { View } from "../../snapshot/view.ts";
import { createGenerator } from "../encode/generator.ts";
import { extensionConfigPatching } from "../select/patching.ts";

interface ExtensionConfigInputs {
  readonly name: string;
  readonly layer: "http" | "network";
  readonly pluginName: string;
  /** An agent that is to fetch a module anew whenever its object changes sees that by this. */
  readonly resourceVersion: string;
  readonly wasm: WasmConfig;
  /** Undefined when it is no URL: everything is refused then. */
  readonly url: string | undefined;
  /** A file of Docker's form; undefined when none is asked for, empty when there is none for the proxy. */
  readonly pullSecret: string | undefined;
}

/** Extensions that do not hold for the proxy are left out, even if a client asks for their names. */
export const extensionConfigs = createGenerator<ExtensionConfigInputs, TypedExtensionConfig>({
  typeUrl: typeUrl.extensionConfig,
  schema: TypedExtensionConfigSchema,
  select: (view, name) => {
    const extension = extensionNamed(view, name);
    if (extension === undefined || extension.config.kind !== "wasm") return undefined;
    const { pluginName, resourceVersion, namespace, object, config } = extension;
    const { layer, wasm, url } = config;
    const report = (message: string) => view.report({ metric: "flotilla_unusable_extension", object, message });
    if (url === undefined) {
      report(`${wasm.url} is no URL of a module`);
      if (wasm.failStrategy === FailStrategy.FAIL_OPEN) return undefined;
    }
    if (wasm.verificationKey !== "") report("verificationKey is not used: no agent checks signatures of images");
    const asked = wasm.imagePullSecret;
    const pullSecret = asked === "" ? undefined : pullSecretOf(view, namespace, asked);
    if (pullSecret === "" && view.proxy.isProven) report(`there is no Secret ${asked} with credentials of registries`);
    return { name, layer, pluginName, resourceVersion, wasm, url, pullSecret };
  },
  build: (inputs) => create(TypedExtensionConfigSchema, { name: inputs.name, typedConfig: typedConfig(inputs) }),
  patching: extensionConfigPatching,
});

/** A waypoint has those of each service behind it. */
function extensionNamed(view: View, name: string): Extension | undefined {
  const services = view.proxy.type === "waypoint" ? view.read(waypointServices) : [];
  for (const subject of ["" as const, ...services.map((service) => serviceText.write(service))]) {
    const found = view.read(trafficExtensions, subject).find(({ resourceName }) => resourceName === name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Only Secrets of the object's own namespace, in the proxy's cluster or the own one, for callers who proved who they are; empty for none. */
function pullSecretOf(view: View, namespace: string, name: string): string {
  const credential = parseCredentialName(secretName(name));
  if (credential === undefined || !view.proxy.isProven) return "";
  return pullSecret(view, namespace, credential.object);
}

function typedConfig({ layer, url, ...inputs }: ExtensionConfigInputs): Any {
  if (url === undefined) return layer === "http" ? pack(HttpRbacSchema, deniesAll) : denyAllConnections;
  const config = pluginConfig(url, inputs);
  return layer === "http" ? pack(HttpWasmSchema, { config }) : pack(NetworkWasmSchema, { config });
}

/** Rules of ALLOW without a policy allow no caller. */
const deniesAll = { rules: {} };
const denyAllConnections = pack(NetworkRbacSchema, { ...deniesAll, statPrefix: "tcp." });

const failurePolicies = {
  [FailStrategy.FAIL_CLOSE]: FailurePolicy.FAIL_CLOSED,
  [FailStrategy.FAIL_OPEN]: FailurePolicy.FAIL_OPEN,
  [FailStrategy.FAIL_RELOAD]: FailurePolicy.FAIL_RELOAD,
} as const;

function pluginConfig(
  url: string,
  { pluginName, wasm, ...rest }: Omit<ExtensionConfigInputs, "layer" | "url">,
): PluginConfig {
  return create(PluginConfigSchema, {
    name: pluginName,
    rootId: wasm.pluginName,
    configuration: configurationOf(wasm),
    failurePolicy: failurePolicies[wasm.failStrategy],
    vm: {
      case: "vmConfig",
      value: {
        runtime: "envoy.wasm.runtime.v8",
        code: { specifier: codeOf(url, wasm) },
        environmentVariables: environmentOf({ wasm, ...rest }),
      },
    },
  });
}

const pullPolicies = {
  [PullPolicy.UNSPECIFIED_POLICY]: "",
  [PullPolicy.IfNotPresent]: "IfNotPresent",
  [PullPolicy.Always]: "Always",
} as const;

/** The plugin reads JSON; without any it is given an empty value. */
function configurationOf({ pluginConfig: given = {} }: WasmConfig): Any {
  if (Object.keys(given).length === 0) return create(AnySchema);
  return pack(StringValueSchema, { value: JSON.stringify(inOrder(given)) });
}

/** Fields by name, at every depth: equal configurations are equal bytes. */
function inOrder(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => compareText(a, b));
  return Object.fromEntries(entries.map(([name, inner]) => [name, inOrder(inner)]));
}

/** The agent fetches remote code and puts a file in its place: the cluster is never used. */
function codeOf(url: string, { url: written, sha256 }: WasmConfig): AsyncSpecifier {
  if (url.startsWith("file:")) {
    const filename = written.replace(/^file:\/\//, "");
    return { case: "local", value: { specifier: { case: "filename", value: filename } } };
  }
  const httpUri = {
    uri: url,
    timeout: { seconds: 30n, nanos: 0 },
    httpUpstreamType: { case: "cluster" as const, value: "_" },
  };
  return { case: "remote", value: { httpUri, sha256 } };
}

type AsyncSpecifier = NonNullable<MessageInitShape<typeof AsyncDataSourceSchema>["specifier"]>;

function environmentOf({
  wasm,
  resourceVersion,
  pullSecret,
}: Pick<ExtensionConfigInputs, "wasm" | "resourceVersion" | "pullSecret">) {
  const variables = wasm.vmConfig?.env ?? [];
  const pullPolicy = pullPolicies[wasm.imagePullPolicy];
  const inline = variables.filter(({ valueFrom }) => valueFrom === EnvValueSource.INLINE);
  return {
    hostEnvKeys: variables.filter(({ valueFrom }) => valueFrom === EnvValueSource.HOST).map(({ name }) => name),
    keyValues: {
      ...(pullSecret !== undefined && { ISTIO_META_WASM_IMAGE_PULL_SECRET: pullSecret }),
      ...(pullPolicy !== "" && { ISTIO_META_WASM_IMAGE_PULL_POLICY: pullPolicy }),
      ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION: resourceVersion,
      ...Object.fromEntries(inline.map(({ name, value }) => [name, value])),
    },
  };
}
