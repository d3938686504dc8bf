/**
 * Mutual TLS of inbound connections: PeerAuthentication of the mesh, the namespace and the workload.
 * The narrower one wins, UNSET inherits, and at one level the oldest object counts.
 */
import { type Config, compareText, configKeyText, type MutualTlsMode, type NamespaceMutualTls } from "@flotilla/model";
import type { AuthorizationPolicy } from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import {
  PeerAuthentication_MutualTLS_Mode as Mode,
  type PeerAuthentication,
  type PeerAuthentication_MutualTLS,
} from "@flotilla/proto/security/v1beta1/peer_authentication_pb";
import type { JWTRule, RequestAuthentication } from "@flotilla/proto/security/v1beta1/request_authentication_pb";
import { byNamespace } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { type PolicySubject, policiesOf } from "./policy-targets.ts";

export interface InboundMutualTls {
  /** For ports without a mode of their own. */
  readonly workload: MutualTlsMode;
  /** By workload port. */
  readonly ports: ReadonlyMap<number, MutualTlsMode>;
}

export const peerAuthenticationsByNamespace = byNamespace<PeerAuthentication>("PeerAuthentication");

/** The modes that hold for the proxy's own workload. */
export const inboundMutualTls = query<InboundMutualTls>(
  "inbound-mutual-tls",
  (view) => {
    const { namespace } = view.proxy;
    const inherited = namespaceMode(view, namespace);
    const selective = view.row(peerAuthenticationsByNamespace, namespace).filter(({ spec }) => hasSelector(spec));
    const own = view.proxy.firstSelecting(selective, ({ spec }) => spec.selector?.matchLabels ?? {});
    const workload = modeOf(own?.spec.mtls, inherited);
    const ports = new Map<number, MutualTlsMode>();
    for (const [port, tls] of Object.entries(own?.spec.portLevelMtls ?? {}))
      ports.set(Number(port), modeOf(tls, workload));
    return { workload, ports };
  },
  (a, b) => a.workload === b.workload && sameModes(a.ports, b.ports),
);

interface SelectingConfigs {
  readonly mode: MutualTlsMode;
  readonly selecting: readonly Config<PeerAuthentication>[];
}

const selectingConfigs = query<SelectingConfigs, string>(
  "namespace-mutual-tls-objects",
  (view, namespace) => ({
    mode: namespaceMode(view, namespace),
    selecting: view.row(peerAuthenticationsByNamespace, namespace).filter(({ spec }) => hasSelector(spec)),
  }),
  (a, b) =>
    a?.mode === b.mode &&
    a.selecting.length === b.selecting.length &&
    a.selecting.every((config, i) => config === b.selecting[i]),
);

/** The modes of a namespace's workloads as others see them. */
export const namespaceMutualTls = query<NamespaceMutualTls, string>("namespace-mutual-tls", (view, namespace) => {
  const { mode, selecting } = view.read(selectingConfigs, namespace);
  return {
    mode,
    selecting: selecting.map(({ spec }) => {
      const own = modeOf(spec.mtls, mode);
      const ports = Object.entries(spec.portLevelMtls).map(([port, tls]) => [Number(port), modeOf(tls, own)] as const);
      return { selector: spec.selector?.matchLabels ?? {}, mode: own, ports: new Map(ports) };
    }),
  };
});

/** The mode of workloads of `namespace` that no object selects. */
export function namespaceMode(view: View, namespace: string): MutualTlsMode {
  const root = view.mesh.rootNamespace;
  const mesh = modeOf(unselected(view.row(peerAuthenticationsByNamespace, root))?.spec.mtls, "PERMISSIVE");
  return namespace === root
    ? mesh
    : modeOf(unselected(view.row(peerAuthenticationsByNamespace, namespace))?.spec.mtls, mesh);
}

function unselected(configs: readonly Config<PeerAuthentication>[]): Config<PeerAuthentication> | undefined {
  return configs.find(({ spec }) => !hasSelector(spec));
}

function hasSelector({ selector }: PeerAuthentication): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length > 0;
}

function modeOf(tls: PeerAuthentication_MutualTLS | undefined, inherited: MutualTlsMode): MutualTlsMode {
  switch (tls?.mode) {
    case Mode.STRICT:
      return "STRICT";
    case Mode.PERMISSIVE:
      return "PERMISSIVE";
    case Mode.DISABLE:
      return "DISABLE";
    default:
      return inherited;
  }
}

function sameModes(a: ReadonlyMap<number, MutualTlsMode>, b: ReadonlyMap<number, MutualTlsMode>): boolean {
  return a.size === b.size && [...a].every(([port, mode]) => b.get(port) === mode);
}

/** The AuthorizationPolicies that hold for the proxy's workload: the root namespace's, then its own namespace's. */
export const authorizationPoliciesByNamespace = byNamespace<AuthorizationPolicy>("AuthorizationPolicy");

export const authorizationPolicies = query<readonly Config<AuthorizationPolicy>[], PolicySubject>(
  "authorization-policies",
  (view, subject) => policiesOf(view, authorizationPoliciesByNamespace, subject),
);

/** The tokens that the proxy's workload takes, of all RequestAuthentications that hold for it; in order of issuers. */
export const requestAuthenticationsByNamespace = byNamespace<RequestAuthentication>("RequestAuthentication");

/** A rule, and the object that it stands in. */
export interface TokenRule {
  readonly rule: JWTRule;
  /** `RequestAuthentication/namespace/name`. */
  readonly object: string;
}

export const tokenRules = query<readonly TokenRule[], PolicySubject>(
  "token-rules",
  (view, subject) => {
    const { proxy, mesh } = view;
    // Of rules for one issuer that of the proxy's own namespace comes first, as in istiod.
    const rank = (namespace: string) => (namespace === proxy.namespace ? 0 : namespace === mesh.rootNamespace ? 1 : 2);
    return policiesOf(view, requestAuthenticationsByNamespace, subject)
      .toSorted((a, b) => rank(a.key.namespace) - rank(b.key.namespace))
      .flatMap(({ key, spec }) => spec.jwtRules.map((rule) => ({ rule, object: configKeyText(key) })))
      .sort((a, b) => compareText(a.rule.issuer, b.rule.issuer));
  },
  (a, b) => a?.length === b.length && a.every(({ rule }, i) => rule === b[i]?.rule),
);
