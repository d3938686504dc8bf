/** Authentication of callers: tokens, headers, networks, and node proxies. */
import {
  type Authenticator,
  impersonationRefusal,
  jwtAuthenticator,
  parseJwtRule,
  tokenReviewAuthenticator,
  trustedNetworks,
  xfccAuthenticator,
} from "@flotilla/auth";
import { PodTable } from "@flotilla/ca/core";
import { noopLogger } from "@flotilla/runtime";
import { type Judge, nowMs, type PkiCase } from "./judge.ts";

interface GoCaller {
  readonly Identities: readonly string[];
  readonly KubernetesInfo?: { readonly PodNamespace?: string; readonly PodServiceAccount?: string };
}

export const authenticationCases: Readonly<Record<string, Judge>> = {
  oidc: (one) => {
    const authenticator = jwtAuthenticator({
      rule: parseJwtRule(JSON.stringify(one["jwtRule"])),
      trustDomain: () => String(one["trustDomain"]),
      nowMs: () => nowMs,
      log: noopLogger,
      // Some encoders write the name of the list with a capital.
      loadKeys: async () => ({ keys: (one["jwks"] as { Keys: never }).Keys }),
    });
    const token = String(one["token"]);
    return judgeCaller(authenticator, one, token === "" ? {} : { authorization: [`Bearer ${token}`] });
  },
  xfcc: (one) =>
    judgeCaller(xfccAuthenticator({ trustedNetworks: [] }), one, {
      "x-forwarded-client-cert": [String(one["header"])],
    }),
  "kube-jwt": judgeReview,
  "trusted-address": ({ trustedCidrs, peer, expected }) => {
    const got = trustedNetworks(trustedCidrs as readonly string[])(String(peer));
    return got === expected["trusted"] ? undefined : `trusted: ${got}`;
  },
  "node-authorization": judgeNode,
};

async function judgeCaller(
  authenticator: Authenticator,
  { peer = "127.0.0.1:1", expected }: PkiCase,
  headers: Readonly<Record<string, readonly string[]>>,
): Promise<string | undefined> {
  const verdict = await authenticator.authenticate({
    metadata: new Map(Object.entries(headers)),
    remoteAddress: String(peer),
  });
  const caller = expected["caller"] as GoCaller | null;
  if (!verdict.authenticated) return caller === null ? undefined : `refused: ${verdict.reason}`;
  if (caller === null) return `taken as ${verdict.identities}, but ${expected["error"]}`;
  const { PodNamespace, PodServiceAccount } = caller.KubernetesInfo ?? {};
  const { namespace, serviceAccount } = verdict.kubernetes ?? {};
  const got = JSON.stringify([verdict.identities, ...(PodNamespace === undefined ? [] : [namespace, serviceAccount])]);
  const want = JSON.stringify([
    caller.Identities,
    ...(PodNamespace === undefined ? [] : [PodNamespace, PodServiceAccount]),
  ]);
  return got === want ? undefined : `want ${want}, got ${got}`;
}

/** The API servers of the corpus accept one token. */
function judgeReview(one: PkiCase): Promise<string | undefined> {
  const clusters = one["remoteCluster"] === true ? ["Kubernetes", "remote"] : ["Kubernetes"];
  const user = { username: "system:serviceaccount:default:example-pod-sa", groups: ["system:serviceaccounts"] };
  const review = async (token: string) =>
    token === "bearer-token" ? { authenticated: true, user } : { authenticated: false };
  const authenticator = tokenReviewAuthenticator({
    clusterId: "Kubernetes",
    aliases: new Map(Object.entries(one["clusterAliases"] as Record<string, string>)),
    reviewerOf: (cluster) => (clusters.includes(cluster) ? review : undefined),
    audiences: ["istio-ca"],
    policy: "third-party",
    trustDomain: () => String(one["trustDomain"]),
    nowMs: () => nowMs,
  });
  return judgeCaller(authenticator, one, one["metadata"] as Record<string, readonly string[]>);
}

interface KubePod {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: { readonly serviceAccountName: string; readonly nodeName?: string };
}

function judgeNode(one: PkiCase): string | undefined {
  const pods = new PodTable();
  for (const [cluster, list] of Object.entries(one["pods"] as Record<string, readonly KubePod[]>)) {
    for (const { metadata, spec } of list) {
      const { serviceAccountName: serviceAccount, nodeName = "" } = spec;
      pods.put(cluster, { ...metadata, serviceAccount, nodeName });
    }
  }
  const caller = one["caller"] as Record<"PodName" | "PodNamespace" | "PodServiceAccount" | "PodUID", string>;
  const info = {
    cluster: String(one["callerCluster"]),
    namespace: caller.PodNamespace,
    serviceAccount: caller.PodServiceAccount,
    podName: caller.PodName,
    podUid: caller.PodUID,
  };
  const rules = {
    clusterId: "primary",
    // An empty list is null in a recording.
    trustedAccounts: (one["trustedNodeAccounts"] as readonly string[] | null | undefined) ?? [],
    trustDomains: () => ["cluster.local"],
    pods,
  };
  const reason = impersonationRefusal(info, String(one["requestedIdentity"]), rules);
  if ((reason === undefined) === one.expected["allowed"]) return undefined;
  return reason === undefined ? `allowed, but ${one.expected["error"]}` : `refused: ${reason}`;
}
