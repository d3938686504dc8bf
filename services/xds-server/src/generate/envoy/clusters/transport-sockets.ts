/** The transport of a cluster: plain, the mesh's TLS (for some or all endpoints), or TLS as a rule states. */
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
import { hboneTransport, waypointTransport } from "../hbone/internal-transport.ts";
import {
  autoMtlsMatches,
  destinationRuleTls,
  mutualTls,
  plainMatch,
  plainText,
  tunnelMatch,
  unencrypted,
  withProxyProtocol,
} from "../tls/upstream-tls.ts";
import type { HboneUse, OutboundClusterInputs } from "./outbound-inputs.ts";

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
  /** By the rule and not the mesh's own: the ALPN of callers has to stay as it is. */
  readonly isStated: boolean;
  /** Nothing can be added to the connection's content: neither end gets the other's baggage from it. */
  readonly hidesPeers: boolean;
}

/** The transport that the rule and the mesh ask for; `tls` of the rule stays within a tunnel, the mesh's own does not. */
type Choice =
  | { readonly kind: "passing" }
  | { readonly kind: "plain" }
  | { readonly kind: "by-endpoint" | "mesh" | "rule"; readonly tls: TransportSocket };

export function transportSockets(inputs: TlsInputs, http2: boolean, hbone: HboneUse = "off"): TransportSockets {
  const settings = inputs.policy?.tls;
  const choice = transportChoice(inputs, http2);
  const proxyProtocol = inputs.policy?.proxyProtocol;
  const { carriesBaggage } = inputs.traits;
  const isWrapped = choice.kind === "rule" || proxyProtocol !== undefined;
  return {
    fields: socketFields({ choice, proxyProtocol, carriesBaggage }, hbone),
    hidesPeers: carriesBaggage && hbone !== "off" && isWrapped,
    isStated: isOwnTls(settings),
  };
}

function transportChoice(inputs: TlsInputs, http2: boolean): Choice {
  const { policy, autoMtlsMatches: mode } = inputs;
  const settings = policy?.tls;
  if (inputs.passesTls) return { kind: "passing" };
  if (settings === undefined && mode === "by-endpoint" && inputs.files === "")
    return { kind: "by-endpoint", tls: meshTls(inputs, http2) };
  const usesFiles = settings !== undefined && showsFiles(settings, inputs.files);
  const isMesh = settings === undefined ? mode !== "none" : settings.mode === TlsMode.ISTIO_MUTUAL && !usesFiles;
  if (isMesh) return { kind: "mesh", tls: meshTls(inputs, http2) };
  if (settings === undefined || settings.mode === TlsMode.DISABLE) return { kind: "plain" };
  if (!usesFiles && !mayUseSecret(settings.credentialName, inputs.mayUseSecrets)) return { kind: "plain" };
  const declared = inputs.service.registry === "External" ? identities(inputs) : [];
  const tls = destinationRuleTls({
    settings: usesFiles ? withFiles(settings, inputs.files) : settings,
    clientCredential: inputs.clientCredential,
    http2,
    subjectAltNames: settings.subjectAltNames.length > 0 ? settings.subjectAltNames : declared,
    defaults: inputs.traits.tlsDefaults,
    compliance: inputs.traits.compliance,
    secretServer: inputs.traits.secretServer,
    fileServer: inputs.traits.fileServer,
  });
  return { kind: "rule", tls };
}

interface Sockets {
  readonly choice: Choice;
  readonly proxyProtocol: TrafficPolicy_ProxyProtocol | undefined;
  readonly carriesBaggage: boolean;
}

function socketFields({ choice, proxyProtocol, carriesBaggage }: Sockets, hbone: HboneUse): TransportSockets["fields"] {
  if (choice.kind === "passing") return {};
  const prefixed = proxyProtocolWrapper(proxyProtocol);
  if (hbone === "waypoint") {
    const plain = proxyProtocol === undefined ? undefined : prefixed(unencrypted);
    return {
      transportSocket: waypointTransport(choice.kind === "rule" ? prefixed(choice.tls) : plain, carriesBaggage),
    };
  }
  if (hbone === "east-west") return { transportSocket: hboneTransport(unencrypted, carriesBaggage) };
  if (hbone === "by-endpoint") {
    const tunnel = prefixed(hboneTransport(choice.kind === "rule" ? choice.tls : undefined, carriesBaggage));
    return { transportSocketMatches: [tunnelMatch(tunnel), ...besidesTunnel(choice, prefixed)] };
  }
  switch (choice.kind) {
    case "by-endpoint":
      return { transportSocketMatches: autoMtlsMatches(prefixed(choice.tls), prefixed(plainText)) };
    case "plain":
      // A header of the caller's address needs something to be put before.
      return proxyProtocol === undefined ? {} : { transportSocket: prefixed(unencrypted) };
    default:
      return { transportSocket: prefixed(choice.tls) };
  }
}

/** For endpoints that take no HBONE. */
function besidesTunnel(
  choice: Exclude<Choice, { readonly kind: "passing" }>,
  prefixed: (socket: TransportSocket) => TransportSocket,
) {
  if (!("tls" in choice)) return [plainMatch(prefixed(plainText))];
  if (choice.kind === "by-endpoint") return autoMtlsMatches(prefixed(choice.tls), prefixed(plainText));
  return [{ name: choice.kind === "rule" ? "user" : "tlsMode-istio", transportSocket: prefixed(choice.tls) }];
}

/** TLS that is not the mesh's. */
function isOwnTls(settings: ClientTLSSettings | undefined): boolean {
  return settings !== undefined && settings.mode !== TlsMode.DISABLE && settings.mode !== TlsMode.ISTIO_MUTUAL;
}

/** A rule's mutual TLS, the mesh's own too, is that of the files that the proxy was started with. */
function showsFiles({ mode }: ClientTLSSettings, files: string): boolean {
  return files !== "" && (mode === TlsMode.MUTUAL || mode === TlsMode.ISTIO_MUTUAL);
}

/** The certificates that the proxy was started with count instead of the rule's. */
function withFiles(stated: ClientTLSSettings, files: string): ClientTLSSettings {
  const [clientCertificate = "", privateKey = "", caCertificates = ""] = files.split("\n");
  const { sni, subjectAltNames, insecureSkipVerify } = stated;
  const shown = { mode: TlsMode.MUTUAL, clientCertificate, privateKey, caCertificates };
  return create(ClientTLSSettingsSchema, {
    ...shown,
    sni,
    subjectAltNames,
    ...(insecureSkipVerify !== undefined && { insecureSkipVerify }),
  });
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
    fileServer: traits.fileServer,
  });
}

function identities({ subjectAltNames }: Pick<TlsInputs, "subjectAltNames">): readonly string[] {
  return subjectAltNames.split("\n").filter((name) => name !== "");
}

function proxyProtocolWrapper(settings: TrafficPolicy_ProxyProtocol | undefined) {
  return (socket: TransportSocket) => (settings === undefined ? socket : withProxyProtocol(socket, settings.version));
}
