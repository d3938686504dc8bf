/** The settings of ca. Names that istiod knows keep its names. */
import { join } from "node:path";
import { issuerSettings, type JwtRule, jwtRulesOf } from "@flotilla/auth";
import { clusterSettings } from "@flotilla/auth/cluster";
import { clientCertificateSettings } from "@flotilla/auth/serving";
import { keyAlgorithms } from "@flotilla/pki";
import {
  defaultPorts,
  duration,
  flag,
  integer,
  list,
  logSettings,
  oneOf,
  parseSettings,
  port,
  type SettingsOf,
  text,
} from "@flotilla/runtime";
import { CaError } from "./errors.ts";

export const settings = {
  ...logSettings,
  host: text({ env: "CA_HOST", default: "0.0.0.0", sentence: "Address on which certificates are issued." }),
  port: port({
    env: "CA_PORT",
    default: defaultPorts.ca.grpc,
    sentence: "Port on which certificates are issued (gRPC, TLS).",
  }),
  healthHost: text({ env: "HEALTH_HOST", default: "0.0.0.0", sentence: "Address of the health pages." }),
  healthPort: port({ env: "HEALTH_PORT", default: defaultPorts.ca.health, sentence: "Port of the health pages." }),
  workDir: text({
    env: "WORK_DIR",
    default: ".flotilla",
    sentence: "Directory of the self-signed root, the published root and the local token issuer.",
  }),
  rootCaDir: text({
    env: "ROOT_CA_DIR",
    default: "./etc/cacerts",
    sentence: "Directory of plugged-in signing material; with none in it the root is self-signed.",
  }),
  rootCaNextDir: text({
    env: "ROOT_CA_NEXT_DIR",
    default: "./etc/cacerts-next",
    sentence: "Directory of plugged-in signing material that a rotation goes over to.",
  }),
  rotationSettleMs: duration({
    env: "CA_ROTATION_SETTLE",
    default: 120_000,
    min: 100,
    sentence:
      "How long nothing may hold a step of a rotation up before the next one: mounted roots take a minute to arrive.",
  }),
  rotationCheckMs: duration({
    env: "CA_ROTATION_CHECK_INTERVAL",
    default: 1000,
    min: 50,
    sentence: "How often a rotation is looked at, and what was issued is told to the other replicas.",
  }),
  rootCertFile: text({
    env: "ROOT_CERT_FILE",
    default: undefined,
    sentence: "File that the root certificates are written to, for other services; WORK_DIR/root-cert.pem if not set.",
  }),
  busUrl: text({
    env: "BUS_URL",
    default: undefined,
    sentence: "The bus, from which the MeshConfig comes; without one the settings and their defaults hold.",
  }),
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
  servingAccounts: list({
    env: "CA_SERVING_ACCOUNTS",
    default: ["flotilla-xds-server", "flotilla-webhook"],
    sentence: "Service accounts in the control plane's namespace that get serving certificates with its DNS names.",
  }),
  serverAccounts: list({
    env: "CA_SERVER_ACCOUNTS",
    default: ["flotilla-nats", "flotilla-redis", "flotilla-config-controller"],
    sentence: "Service accounts there that get a certificate with the DNS names of the Service of their own name.",
  }),
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
  selfSignedTtlMs: duration({
    env: "CITADEL_SELF_SIGNED_CA_CERT_TTL",
    default: 3650 * 86_400_000,
    min: 60_000,
    sentence: "Life of a self-signed root.",
  }),
  selfSignedKey: oneOf({
    env: "CA_SELF_SIGNED_KEY",
    default: "rsa-2048",
    values: keyAlgorithms,
    sentence: "Key of a self-signed root when it is made.",
  }),
  selfSignedStore: oneOf({
    env: "CA_SELF_SIGNED_STORE",
    default: "disk",
    values: ["disk", "bus"],
    sentence:
      "Where a self-signed root lies without a cluster: in WORK_DIR, or sealed on the bus, which replicas share.",
  }),
  sealKeyFile: text({
    env: "SEAL_KEY_FILE",
    default: undefined,
    sentence: "File with the key that a root on the bus is sealed with, as config-controller has it.",
  }),
  rootCheckMs: duration({
    env: "CITADEL_SELF_SIGNED_ROOT_CERT_CHECK_INTERVAL",
    default: 3_600_000,
    min: 100,
    sentence: "How often a self-signed root is looked at.",
  }),
  rootGracePercent: integer({
    env: "CITADEL_SELF_SIGNED_ROOT_CERT_GRACE_PERIOD_PERCENTILE",
    default: 20,
    min: 1,
    max: 99,
    sentence: "The last part of its life, in percent, in which a self-signed root is renewed.",
  }),
  pollMs: duration({
    env: "CA_MATERIAL_POLL_INTERVAL",
    default: 1000,
    min: 20,
    sentence: "How often plugged-in material is looked at.",
  }),
  multiRoot: flag({
    env: "ISTIO_MULTIROOT_MESH",
    default: false,
    sentence: "A changed root bundle is taken if one of the two bundles contains the other.",
  }),
  ...clusterSettings,
  ...clientCertificateSettings,
  rootSecret: text({
    env: "CA_SELF_SIGNED_SECRET",
    default: "istio-ca-secret",
    sentence: "Secret of a self-signed root in POD_NAMESPACE, where there is a cluster.",
  }),
  rootConfigMap: text({
    env: "PILOT_CA_CERT_CONFIGMAP",
    default: "istio-ca-root-cert",
    sentence: "ConfigMap in every namespace from where pods mount the roots.",
  }),
  crlConfigMap: text({
    env: "PILOT_CRL_CONFIGMAP",
    default: "istio-ca-crl",
    sentence: "ConfigMap in every namespace from where pods mount revocation lists.",
  }),
  clusterTrustBundle: flag({
    env: "ENABLE_CLUSTER_TRUST_BUNDLE_API",
    default: false,
    sentence: "The roots are written to a ClusterTrustBundle too.",
  }),
  distributeCrl: flag({
    env: "PILOT_ENABLE_CA_CRL",
    default: true,
    sentence: "Revocation lists beside plugged-in material (ca-crl.pem) are written to every namespace.",
  }),
  externalCa: oneOf({
    env: "EXTERNAL_CA",
    default: "",
    values: ["", "ISTIOD_RA_KUBERNETES_API"],
    sentence: "With ISTIOD_RA_KUBERNETES_API a signer of Kubernetes signs for workloads.",
  }),
  kubeSigner: text({
    env: "K8S_SIGNER",
    default: undefined,
    sentence: "The signer (domain/name) for requests that name none, with EXTERNAL_CA.",
  }),
  signerDomain: text({
    env: "CERT_SIGNER_DOMAIN",
    default: undefined,
    sentence: "Domain of the signers that requests may name (CertSigner).",
  }),
  signerRootFile: text({
    env: "K8S_SIGNER_ROOT_FILE",
    default: "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
    sentence: "Roots of K8S_SIGNER, where caCertificates of the MeshConfig name none for it.",
  }),
  bundleEndpoints: text({
    env: "SPIFFE_BUNDLE_ENDPOINTS",
    default: "",
    sentence:
      "SPIFFE bundle endpoints whose roots the mesh trusts too, beside caCertificates of the MeshConfig: trustdomain|https://url, several separated by ||.",
  }),
  bundleRefreshMs: duration({
    env: "SPIFFE_BUNDLE_REFRESH_INTERVAL",
    default: 1_800_000,
    min: 100,
    sentence: "How often SPIFFE bundle endpoints are asked, unless they want to be asked more often.",
  }),
  ...issuerSettings,
  clockToleranceMs: duration({
    env: "TOKEN_CLOCK_TOLERANCE",
    default: 30_000,
    max: 600_000,
    sentence: "How far the clock of a token issuer may be off.",
  }),
  trustedNetworks: list({
    env: "TRUSTED_GATEWAY_CIDR",
    default: [],
    sentence:
      "Networks whose gateways may name the caller in x-forwarded-client-cert; with any, this host is one of them.",
  }),
  forwardingAccounts: list({
    env: "CA_FORWARDING_ACCOUNTS",
    default: ["flotilla-xds-server"],
    sentence: "Service accounts in the control plane's namespace that hand on requests of others, naming the caller.",
  }),
  trustedNodeAccounts: list({
    env: "CA_TRUSTED_NODE_ACCOUNTS",
    default: [],
    sentence: "Service accounts (namespace/name) of node proxies, which ask for the pods of their node.",
  }),
  maxPendingPerIdentity: integer({
    env: "CA_MAX_PENDING_PER_IDENTITY",
    default: 4096,
    min: 1,
    sentence: "Requests of one identity that may wait; more are refused.",
  }),
  maxPending: integer({
    env: "CA_MAX_PENDING",
    default: 32_768,
    min: 1,
    sentence: "Requests that may wait altogether; more are refused.",
  }),
} as const;

export interface Config extends SettingsOf<typeof settings> {
  readonly rootFile: string;
  readonly selfSignedDir: string;
  readonly jwtRules: readonly JwtRule[];
  readonly bundleUrls: readonly string[];
}

/** @throws RuntimeError SETTINGS_INVALID; AuthError AUTH_BAD_RULE; CaError CA_BAD_BUNDLE */
export function parseConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const parsed = parseSettings(settings, env);
  const { workDir, rootCertFile, bundleEndpoints } = parsed;
  return {
    ...parsed,
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
