/** Objects that ca keeps in a cluster and publishes to its pods, and the signers of the cluster that may sign in its place. */
import { flag, oneOf, text } from "@flotilla/runtime";

export const kubernetesSettings = {
  rootSecret: text({
    env: "CA_SELF_SIGNED_SECRET",
    default: "istio-ca-secret",
    sentence: "Secret of a self-signed root in POD_NAMESPACE, where there is a cluster.",
  }),
  rootInCacerts: flag({
    env: "USE_CACERTS_FOR_SELF_SIGNED_CA",
    default: false,
    sentence:
      "A self-signed root is stored in the Secret cacerts, in place of that of CA_SELF_SIGNED_SECRET, whose root it takes over; the Role of ca has to name it.",
  }),
  sealKeySecret: text({
    env: "SEAL_KEY_SECRET",
    default: undefined,
    sentence: "Secret in POD_NAMESPACE that is created with a random seal key (seal.key) where there is none.",
  }),
  storeSecret: text({
    env: "STORE_PASSWORDS_SECRET",
    default: undefined,
    sentence:
      "Secret in POD_NAMESPACE that is created with a random password for each user of Redis where there is none.",
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
} as const;
