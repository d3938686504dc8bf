/** XBackends: hosts outside the mesh as targets of routes, with the TLS that callers open to them. Source: corpus gateway-api (xbackend). */
import type { Config } from "@flotilla/model";
import { create } from "@flotilla/proto";
import {
  ClientTLSSettings_TLSmode,
  type DestinationRule,
  DestinationRuleSchema,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { type BackendTlsSpec, credentialOf, parentsAnnotation, policyRuleKey } from "./backend-tls.ts";
import type { ExternalBackend } from "./backends.ts";
import { condition, gatewayController, meshController, type Problem } from "./conditions.ts";
import { gatewayGroup } from "./gateway-spec.ts";
import type { ParentStatus } from "./route-status.ts";

export interface ExternalBackendSpec {
  readonly type?: string;
  readonly externalHostname?: { readonly hostname?: string };
  readonly port?: { readonly port?: number };
  readonly tls?: { readonly mode?: string; readonly validation?: BackendTlsSpec["validation"] };
}

export function externalBackendOf({ externalHostname, port }: ExternalBackendSpec): ExternalBackend | undefined {
  const host = externalHostname?.hostname ?? "";
  return host === "" || port?.port === undefined ? undefined : { host, port: port.port };
}

/** For one that is called by TLS. */
export function externalBackendRules(
  { key, spec }: Config<ExternalBackendSpec>,
  hasRoot: (namespace: string, name: string) => boolean,
): readonly Config<DestinationRule>[] {
  const backend = externalBackendOf(spec);
  if (backend === undefined || spec.tls?.mode !== "ServerOnly") return [];
  const { host, port } = backend;
  const { validation } = spec.tls;
  const tls = {
    mode: ClientTLSSettings_TLSmode.SIMPLE,
    sni: validation?.hostname ?? host,
    credentialName: credentialOf({ key, spec: { ...(validation && { validation }) } }, { hasRoot }),
  };
  return [
    {
      key: policyRuleKey(key.namespace, { kind: "XBackend", name: key.name }, host),
      creationTimeMs: 0,
      labels: {},
      annotations: { [parentsAnnotation]: `XBackend/${key.namespace}.${key.name}` },
      spec: create(DestinationRuleSchema, {
        host,
        trafficPolicy: { portLevelSettings: [{ port: { number: port }, tls }] },
      }),
    },
  ];
}

const valid = "Configuration is valid";

/** `gateways`: those with a route to the XBackend. */
export function externalBackendStatus(
  { key, spec }: Config<ExternalBackendSpec>,
  gateways: readonly { readonly namespace: string; readonly name: string }[],
): readonly ParentStatus[] {
  const problem: Problem | undefined =
    spec.tls?.mode === "ClientAndServer"
      ? {
          reason: "Invalid",
          message: "unsupported ClientAndServer TLS mode: Istio does not support client certificates on backend",
        }
      : undefined;
  const conditions = [
    condition("Accepted", { reason: "Accepted", message: valid }, problem),
    condition("ResolvedRefs", { reason: "ResolvedRefs", message: valid }),
  ];
  const own = { group: "gateway.networking.x-k8s.io", kind: "XBackend", name: key.name };
  return [
    { controllerName: meshController, parentRef: own, conditions },
    ...gateways.map(({ namespace, name }) => ({
      controllerName: gatewayController,
      parentRef: { group: gatewayGroup, kind: "Gateway", name, namespace },
      conditions,
    })),
  ];
}
