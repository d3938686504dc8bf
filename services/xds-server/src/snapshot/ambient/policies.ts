/** Policies that ztunnels enforce: AuthorizationPolicies, and PeerAuthentications as what they refuse. */
import {
  type AuthorizationInit,
  convertPeerAuthentication,
  peerPolicyNames,
  strictPolicy,
  strictPolicyName,
  translatePolicy,
} from "@flotilla/ambient";
import {
  type Config,
  compareText,
  type Labels,
  matchesLabels,
  type TextOf,
  textCodec,
  type Workload,
} from "@flotilla/model";
import type { AuthorizationPolicy } from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import type { PeerAuthentication } from "@flotilla/proto/security/v1beta1/peer_authentication_pb";
import { authorizationPoliciesByNamespace, namespaceMode, peerAuthenticationsByNamespace } from "../scope/authn.ts";
import { query, type View } from "../view.ts";
import { sameJson } from "./namespaces.ts";
import { allowWaypointNames, allowWaypointPolicy } from "./waypoint-policies.ts";

/** `namespace/name` of a policy. */
export const policyText = textCodec("PolicyName", "/", ["namespace", "name"]);
type PolicyText = TextOf<typeof policyText>;

const convertedPrefix = "converted_peer_authentication_";

/** By the policy's name at ztunnels, `namespace/name`. */
export const ambientPolicy = query<AuthorizationInit | undefined, PolicyText>(
  "ambient-policy",
  (view, text) => {
    const { namespace, name } = policyText.read(text);
    const root = view.mesh.rootNamespace;
    if (namespace === root && name === strictPolicyName) return strictPolicy(root);
    const policy = view.config<AuthorizationPolicy>("AuthorizationPolicy", namespace, name);
    if (policy !== undefined) return translated(view, policy);
    const peer = name.startsWith(convertedPrefix)
      ? view.config<PeerAuthentication>("PeerAuthentication", namespace, name.slice(convertedPrefix.length))
      : undefined;
    if (peer !== undefined && namespace !== root)
      return convertPeerAuthentication(peer, namespaceMode(view, namespace));
    return allowWaypointPolicy(view, { namespace, name });
  },
  sameJson,
);

function translated(view: View, policy: Config<AuthorizationPolicy>): AuthorizationInit | undefined {
  const { authorization, problem } = translatePolicy(policy, {
    rootNamespace: view.mesh.rootNamespace,
    sendsDryRun: view.feature("ambientDryRunPolicies"),
  });
  if (problem !== undefined) {
    const { namespace, name } = policy.key;
    const object = `AuthorizationPolicy/${namespace}/${name}`;
    view.report({ metric: "flotilla_ztunnel_policy_reduced", object, message: problem });
  }
  return authorization;
}

/** Names under which there may be a policy. */
export const ambientPolicyNames = query<readonly PolicyText[]>("ambient-policy-names", (view) => {
  const policies = view.all<AuthorizationPolicy>("AuthorizationPolicy").map(({ key }) => policyText.write(key));
  const peers = view.all<PeerAuthentication>("PeerAuthentication");
  const converted = peers.map(({ key: { namespace, name } }) =>
    policyText.write({ namespace, name: `${convertedPrefix}${name}` }),
  );
  const strict =
    peers.length === 0 ? [] : [policyText.write({ namespace: view.mesh.rootNamespace, name: strictPolicyName })];
  const allowing = allowWaypointNames(view).map((name) => policyText.write(name));
  return [...new Set([...policies, ...converted, ...strict, ...allowing])].sort(compareText);
});

function hasLabels(labels: Labels | undefined): boolean {
  return Object.keys(labels ?? {}).length > 0;
}

/** `namespace/name` of the policies that select a workload by its labels; ztunnels find those of its namespace by themselves. */
export function policiesOfWorkload(view: View, { kind, namespace, labels }: Workload): readonly string[] {
  // Nothing is known of what is behind an address in a slice, nor is it anybody's to enforce.
  if (kind === "EndpointSlice") return [];
  const { rootNamespace } = view.mesh;
  // A ServiceEntry without labels counts as selected by all of the mesh and of its namespace, as in istiod; ztunnels do not enforce it.
  // differs: of a pod without labels istiod takes every selector for one that selects it (docs/decisions/0257-selectors-select.md).
  const isUnlabelled = kind === "ServiceEntry" && !hasLabels(labels);
  const selects = ({ spec: { selector } }: Config<AuthorizationPolicy | PeerAuthentication>) =>
    hasLabels(selector?.matchLabels) && matchesLabels(selector?.matchLabels ?? {}, labels);
  const own = [...new Set([rootNamespace, namespace])]
    .flatMap((home) => view.row(authorizationPoliciesByNamespace, home))
    .filter((policy) => selects(policy) || (isUnlabelled && hasLabels(policy.spec.selector?.matchLabels)))
    .map(({ key }) => policyText.write(key))
    .filter((name) => view.read(ambientPolicy, name) !== undefined);
  // In the root namespace objects with a selector do not count, as in istiod.
  const peers = namespace === rootNamespace ? [] : view.row(peerAuthenticationsByNamespace, namespace);
  const converted = peerPolicyNames(peers.find(selects), namespaceMode(view, namespace), rootNamespace);
  return [...own.sort(compareText), ...converted];
}
