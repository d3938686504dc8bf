/** The settings of ca. Settings that istiod has too keep its names. */
import { join } from "node:path";
import { issuerSettings, type JwtRule, jwtRulesOf } from "@flotilla/auth";
import { clusterSettings } from "@flotilla/auth/cluster";
import { clientCertificateSettings } from "@flotilla/auth/serving";
import { busReplicasSetting, sealKeySetting } from "@flotilla/bus";
import { electionSettings } from "@flotilla/leadership";
import {
  complianceSetting,
  defaultPorts,
  duration,
  list,
  ownHostSettings,
  parseSettings,
  port,
  type Service,
  type SettingsOf,
  serviceSettings,
  text,
  tlsPortSettings,
} from "@flotilla/runtime";
import { callerSettings } from "./authorize/caller-settings.ts";
import { CaError } from "./errors.ts";
import { kubernetesSettings } from "./kubernetes/kubernetes-settings.ts";
import { rootSettings } from "./roots/root-settings.ts";

export const settings = {
  ...serviceSettings(defaultPorts.ca.health),
  host: text({ env: "CA_HOST", default: "0.0.0.0", sentence: "Address on which certificates are issued." }),
  port: port({
    env: "CA_PORT",
    default: defaultPorts.ca.grpc,
    sentence: "Port on which certificates are issued (gRPC, TLS).",
  }),
  ...complianceSetting,
  ...tlsPortSettings,
  ...ownHostSettings,
  workDir: text({
    env: "WORK_DIR",
    default: ".flotilla",
    sentence: "Directory of the self-signed root, the published root and the local token issuer.",
  }),
  ...rootSettings,
  busUrl: text({
    env: "BUS_URL",
    default: undefined,
    sentence: "The bus, from which the MeshConfig comes; without one the settings and their defaults hold.",
  }),
  ...busReplicasSetting,
  ...sealKeySetting,
  trustDomain: text({
    env: "TRUST_DOMAIN",
    default: undefined,
    sentence: "Trust domain of the identities; that of the MeshConfig if not set, or cluster.local.",
  }),
  trustDomainAliases: list({
    env: "TRUST_DOMAIN_ALIASES",
    default: [],
    sentence: "Trust domains whose certificates prove an identity too, beside those of the MeshConfig.",
  }),
  namespace: text({ env: "POD_NAMESPACE", default: "istio-system", sentence: "Namespace of the control plane." }),
  domain: text({ env: "DOMAIN_SUFFIX", default: "cluster.local", sentence: "DNS suffix of Kubernetes services." }),
  ...electionSettings,
  revision: text({
    env: "REVISION",
    default: "default",
    sentence: "Revision of the control plane; part of a serving name.",
  }),
  customHost: list({
    env: "ISTIOD_CUSTOM_HOST",
    default: [],
    sentence: "More DNS names that the control plane serves under.",
  }),
  ...callerSettings,
  defaultTtlMs: duration({
    env: "DEFAULT_WORKLOAD_CERT_TTL",
    default: 86_400_000,
    min: 1000,
    sentence: "Life of a certificate when the request names none.",
  }),
  maxTtlMs: duration({
    env: "MAX_WORKLOAD_CERT_TTL",
    default: 90 * 86_400_000,
    min: 1000,
    sentence: "Longest life that a request may ask for.",
  }),
  ...clusterSettings,
  ...clientCertificateSettings,
  ...kubernetesSettings,
  ...issuerSettings,
} as const;

/** The frame that its parts run in. */
export type CaService = Service<Settings>;

export interface Settings extends SettingsOf<typeof settings> {
  readonly rootFile: string;
  readonly selfSignedDir: string;
  readonly jwtRules: readonly JwtRule[];
  readonly bundleUrls: readonly string[];
}

/** @throws RuntimeError SETTINGS_INVALID; AuthError AUTH_BAD_RULE; CaError CA_BAD_BUNDLE */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const parsed = parseSettings(settings, env);
  const { workDir, rootCertFile, bundleEndpoints, selfSignedRsaSize } = parsed;
  return {
    ...parsed,
    selfSignedKey: parsed.selfSignedKey === "rsa-2048" ? `rsa-${selfSignedRsaSize}` : parsed.selfSignedKey,
    rootFile: rootCertFile ?? join(workDir, "root-cert.pem"),
    selfSignedDir: join(workDir, "ca"),
    bundleUrls: parseEndpoints(bundleEndpoints),
    jwtRules: jwtRulesOf(parsed),
  };
}

/** As istiod writes them; the trust domain is for people, as all roots are trusted alike. @throws CaError CA_BAD_BUNDLE */
function parseEndpoints(text: string): readonly string[] {
  const entries = text.split("||").filter((entry) => entry.trim() !== "");
  return entries.map((entry) => {
    const [trustDomain = "", url = "", ...more] = entry.trim().split("|");
    if (trustDomain === "" || more.length > 0 || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new CaError(
        "CA_BAD_BUNDLE",
        `SPIFFE_BUNDLE_ENDPOINTS: ${JSON.stringify(entry)} is not trustdomain|https://url`,
      );
    return url;
  });
}
