/** The settings by which ca and xds-server find the cluster that confirms Kubernetes tokens. */
import { apiServerSettings } from "@flotilla/kube-api";
import { integer, list, oneOf, type SettingsOf, text } from "@flotilla/runtime";

export const clusterSettings = {
  ...apiServerSettings,
  clusterId: text({ env: "CLUSTER_ID", default: "Kubernetes", sentence: "Name of the own cluster." }),
  clusterAliases: list({
    env: "CLUSTER_ALIASES",
    default: [],
    sentence: "Other names of clusters, as alias=cluster.",
  }),
  jwtPolicy: oneOf({
    env: "JWT_POLICY",
    default: "third-party-jwt",
    values: ["third-party-jwt", "first-party-jwt"],
    sentence: "With first-party-jwt, Kubernetes tokens without an audience are taken too.",
  }),
  insecureKubeconfigs: list({
    env: "PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS",
    default: [],
    sentence:
      "What kubeconfigs in Secrets may do that others do not: exec (run programs), clientKey, clientCertificate, tokenFile (name files).",
  }),
  maxReviews: integer({
    env: "MAX_TOKEN_REVIEWS",
    default: 16,
    min: 1,
    sentence: "Tokens that the API server is asked about at a time.",
  }),
} as const;

export type ClusterSettings = SettingsOf<typeof clusterSettings>;
