/** Where the signing material comes from, how it is renewed and replaced, and which other roots the mesh trusts. */
import { keyAlgorithms } from "@flotilla/pki";
import { duration, flag, integer, oneOf, text } from "@flotilla/runtime";

export const rootSettings = {
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
  pollMs: duration({
    env: "CA_MATERIAL_POLL_INTERVAL",
    default: 1000,
    min: 20,
    sentence: "Poll interval of plugged-in material.",
  }),
  multiRoot: flag({
    env: "ISTIO_MULTIROOT_MESH",
    default: false,
    sentence: "A changed root bundle is taken if one of the two bundles contains the other.",
  }),
  rootCertFile: text({
    env: "ROOT_CERT_FILE",
    default: undefined,
    sentence: "File that the root certificates are written to, for other services; WORK_DIR/root-cert.pem if not set.",
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
  selfSignedRsaSize: oneOf({
    env: "CITADEL_SELF_SIGNED_CA_RSA_KEY_SIZE",
    default: "2048",
    values: ["2048", "3072", "4096"],
    sentence: "Bits of the key of a self-signed root, unless CA_SELF_SIGNED_KEY names another kind than rsa-2048.",
  }),
  selfSignedStore: oneOf({
    env: "CA_SELF_SIGNED_STORE",
    default: "disk",
    values: ["disk", "bus"],
    sentence: "Place of a self-signed root without a cluster: in WORK_DIR, or sealed on the bus, which replicas share.",
  }),
  rootCheckMs: duration({
    env: "CITADEL_SELF_SIGNED_ROOT_CERT_CHECK_INTERVAL",
    default: 3_600_000,
    min: 100,
    sentence: "Check interval of a self-signed root.",
  }),
  rootGracePercent: integer({
    env: "CITADEL_SELF_SIGNED_ROOT_CERT_GRACE_PERIOD_PERCENTILE",
    default: 20,
    min: 1,
    max: 99,
    sentence: "The last part of its life, in percent, in which a self-signed root is renewed.",
  }),
  rotationSettleMs: duration({
    env: "CA_ROTATION_SETTLE",
    default: 120_000,
    min: 100,
    sentence: "Time without a hold-up before the next step of a rotation: mounted roots take a minute to arrive.",
  }),
  rotationTtlMs: duration({
    env: "CA_ROTATION_CERTIFICATE_TTL",
    default: 3_600_000,
    min: 1000,
    sentence:
      "Longest life of certificates issued while the mesh is brought to trust a new root: agents come back for one of that root in the middle of it.",
  }),
  rotationCheckMs: duration({
    env: "CA_ROTATION_CHECK_INTERVAL",
    default: 1000,
    min: 50,
    sentence: "Interval in which a rotation is advanced, and issued certificates are reported to the other replicas.",
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
    sentence: "Refresh interval of SPIFFE bundle endpoints, unless they ask for a shorter one.",
  }),
} as const;
