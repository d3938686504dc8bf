/** The transport of a cluster: plain, the mesh's TLS (for some or all endpoints), or TLS as a rule says. */
import { sniName } from "@flotilla/model";
import { create, type MessageInitShape } from "@flotilla/proto";
import type { ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import type { TransportSocket } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  type ClientTLSSettings,
  ClientTLSSettingsSchema,
  ClientTLSSettings_TLSmode as TlsMode,
  type TrafficPolicy_ProxyProtocol,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import {
  autoMtlsMatches,
  destinationRuleTls,
  mutualTls,
  plainText,
  unencrypted,
  withProxyProtocol,
} from "../tls/upstream-tls.ts";
import type { OutboundClusterInputs } from "./outbound-inputs.ts";

type TlsInputs = Pick<
  OutboundClusterInputs,
  | "service"
  | "port"
  | "subset"
  | "passesTls"
  | "policy"
  | "autoMtlsMatches"
  | "subjectAltNames"
  | "files"
  | "mayUseSecrets"
  | "clientCredential"
  | "isDynamic"
  | "traits"
>;

export interface TransportSockets {
  readonly fields: Pick<MessageInitShape<typeof ClusterSchema>, "transportSocket" | "transportSocketMatches">;
  /** By the rule and not the mesh's own: what callers negotiate has to stay as it is. */
  readonly isStated: boolean;
}

export function transportSockets(inputs: TlsInputs, http2: boolean): TransportSockets {
  const { policy, autoMtlsMatches: mode } = inputs;
  const prefixed = proxyProtocolWrapper(policy?.proxyProtocol);
  const settings = policy?.tls;
  if (inputs.passesTls) return { fields: {}, isStated: isOwnTls(settings) };
  if (settings === undefined && mode === "by-endpoint" && inputs.files === "") {
    const matches = autoMtlsMatches(prefixed(meshTls(inputs, http2)), prefixed(plainText));
    return { fields: { transportSocketMatches: matches }, isStated: false };
  }
  const isMesh = settings === undefined ? mode !== "none" : settings.mode === TlsMode.ISTIO_MUTUAL;
  if (isMesh) return { fields: { transportSocket: prefixed(meshTls(inputs, http2)) }, isStated: false };
  if (settings !== undefined && isOwnTls(settings)) {
    const usesFiles = inputs.files !== "" && settings.mode === TlsMode.MUTUAL;
    const isPlain = !usesFiles && !mayUseSecret(settings.credentialName, inputs.mayUseSecrets);
    if (isPlain) return { fields: plainFields(policy?.proxyProtocol), isStated: true };
    const declared = inputs.service.registry === "External" ? identities(inputs) : [];
    const subjectAltNames = settings.subjectAltNames.length > 0 ? settings.subjectAltNames : declared;
    return {
      fields: {
        transportSocket: prefixed(
          destinationRuleTls({
            settings: usesFiles ? withFiles(settings, inputs.files) : settings,
            clientCredential: inputs.clientCredential,
            http2,
            subjectAltNames,
            defaults: inputs.traits.tlsDefaults,
            compliance: inputs.traits.compliance,
          }),
        ),
      },
      isStated: true,
    };
  }
  return { fields: plainFields(policy?.proxyProtocol), isStated: false };
}

/** TLS that is not the mesh's. */
function isOwnTls(settings: ClientTLSSettings | undefined): boolean {
  return settings !== undefined && settings.mode !== TlsMode.DISABLE && settings.mode !== TlsMode.ISTIO_MUTUAL;
}

/** A header of the caller's address needs something to be put before. */
function plainFields(proxyProtocol: TrafficPolicy_ProxyProtocol | undefined): TransportSockets["fields"] {
  return proxyProtocol === undefined ? {} : { transportSocket: proxyProtocolWrapper(proxyProtocol)(unencrypted) };
}

/** The certificates that the proxy was started with count instead of the rule's. */
function withFiles({ mode, sni, subjectAltNames }: ClientTLSSettings, files: string): ClientTLSSettings {
  const [clientCertificate = "", privateKey = "", caCertificates = ""] = files.split("\n");
  return create(ClientTLSSettingsSchema, { mode, sni, subjectAltNames, clientCertificate, privateKey, caCertificates });
}

/** Only rules that select their workloads may hand out Secrets; without its Secret TLS is left out. Roots are no secrets. */
export function mayUseSecret(credentialName: string, mayUseSecrets: boolean): boolean {
  return credentialName === "" || credentialName.startsWith("configmap://") || mayUseSecrets;
}

function meshTls(
  { service, port, subset, policy, subjectAltNames, files, isDynamic, traits }: TlsInputs,
  http2: boolean,
): TransportSocket {
  const stated = policy?.tls?.subjectAltNames ?? [];
  const [certificate = "", key = "", root = ""] = files.split("\n");
  return mutualTls({
    sni: policy?.tls?.sni || (isDynamic ? "" : sniName("outbound", port.number, subset, service.hostname)),
    subjectAltNames: stated.length > 0 ? stated : identities({ subjectAltNames }),
    http2,
    offersPeerExchange: traits.offersPeerExchange,
    compliance: traits.compliance,
    defaults: traits.tlsDefaults,
    files: files === "" ? undefined : { certificate, key, root },
  });
}

function identities({ subjectAltNames }: Pick<TlsInputs, "subjectAltNames">): readonly string[] {
  return subjectAltNames.split("\n").filter((name) => name !== "");
}

function proxyProtocolWrapper(settings: TrafficPolicy_ProxyProtocol | undefined) {
  return (socket: TransportSocket) => (settings === undefined ? socket : withProxyProtocol(socket, settings.version));
}
