/** The settings of webhook. Those that Istio has too carry its names. */
import { apiServerSettings } from "@flotilla/auth/cluster";
import { caSettings, clientCertificateSettings, keyPairSettings } from "@flotilla/auth/serving";
import { busReplicasSetting, sealKeySetting } from "@flotilla/bus";
import { injectionSettings } from "@flotilla/injection";
import { remoteClusterSettings } from "@flotilla/kube-api";
import { electionSettings } from "@flotilla/leadership";
import {
  defaultPorts,
  flag,
  integer,
  list,
  oneOf,
  ownHostSettings,
  parseSettings,
  port,
  type Service,
  type SettingsOf,
  serviceSettings,
  text,
  tlsPortSettings,
} from "@flotilla/runtime";

export const settings = {
  ...serviceSettings(defaultPorts.webhook.health),
  ...ownHostSettings,
  host: text({
    env: "WEBHOOK_HOST",
    default: "0.0.0.0",
    sentence: "Address on which admission requests are answered.",
  }),
  port: port({
    env: "WEBHOOK_PORT",
    default: defaultPorts.webhook.https,
    sentence: "Port on which admission requests are answered (HTTPS).",
  }),
  busUrl: text({
    env: "BUS_URL",
    default: `nats://127.0.0.1:${defaultPorts.nats.client}`,
    sentence: "The bus, from which the MeshConfig comes: nats://host:port, or embedded:NAME within one process.",
  }),
  ...busReplicasSetting,
  ...sealKeySetting,
  ...caSettings,
  workDir: text({
    env: "WORK_DIR",
    default: ".flotilla",
    sentence: "Directory of the local token issuer, of the root, and of the last MeshConfig and certificate.",
  }),
  caAddress: text({
    env: "CA_ADDRESS",
    default: `127.0.0.1:${defaultPorts.ca.grpc}`,
    sentence: "host:port of ca, which issues the serving certificate.",
  }),
  ...keyPairSettings,
  ...tlsPortSettings,
  ...clientCertificateSettings,
  ...apiServerSettings,
  ...remoteClusterSettings,
  clusterId: text({
    env: "CLUSTER_ID",
    default: "Kubernetes",
    sentence: "Name of the own cluster; injected proxies report it if the injection values name none.",
  }),
  namespace: text({ env: "POD_NAMESPACE", default: "istio-system", sentence: "Namespace of the control plane." }),
  domain: text({ env: "DOMAIN_SUFFIX", default: "cluster.local", sentence: "DNS suffix of Kubernetes services." }),
  servingNames: list({
    env: "WEBHOOK_SERVING_NAMES",
    default: [],
    sentence:
      "DNS names to be served under; if not set, those of the Services istiod and flotilla-webhook, and localhost.",
  }),
  url: text({
    env: "WEBHOOK_URL",
    default: undefined,
    sentence:
      "https://HOST:PORT by which webhook configurations name this webhook where the API server does not reach its Service.",
  }),
  caBundleFile: text({
    env: "WEBHOOK_CA_BUNDLE_FILE",
    default: undefined,
    sentence:
      "File with the root that is written to caBundle of webhook configurations; that of ca if not set and ca issues the serving certificate.",
  }),
  clientCaFile: text({
    env: "WEBHOOK_CLIENT_CA_FILE",
    default: undefined,
    sentence:
      "File with the CAs of client certificates; with it, only callers with one are served (the API server, by its admission configuration), readiness excepted.",
  }),
  clientNames: list({
    env: "WEBHOOK_CLIENT_NAMES",
    default: [],
    sentence: "Common or DNS names, one of which such a certificate must have; any will do if not set.",
  }),
  injectEnabled: flag({ env: "INJECT_ENABLED", default: true, sentence: "Pods are injected." }),
  ...electionSettings,
  revision: text({ env: "REVISION", default: "default", sentence: "Revision of the control plane." }),
  nativeSidecars: oneOf({
    env: "ENABLE_NATIVE_SIDECARS",
    default: "auto",
    values: ["true", "false", "auto"],
    sentence:
      "The proxy runs as an init container that goes on running; auto does so where the kubelets of all nodes are of 1.33 or newer (for a pod that is bound to a node, that of the node).",
  }),
  analyzedObjects: integer({
    env: "WEBHOOK_ANALYZED_OBJECTS",
    default: 10_000,
    min: 0,
    max: 1_000_000,
    sentence:
      "Maximum number of the mesh's objects that are kept to warn of analysis findings about a written object; in larger meshes, and with 0, there are no such warnings.",
  }),
  ...injectionSettings,
  kubernetesVersion: text({
    env: "KUBERNETES_VERSION",
    default: "v1.33.0",
    sentence:
      "Oldest version of the nodes, for ENABLE_NATIVE_SIDECARS=auto outside of a cluster and until nodes are known.",
  }),
} as const;

export type Settings = SettingsOf<typeof settings>;
/** The frame that its parts run in. */
export type WebhookService = Service<Settings>;

/** @throws RuntimeError SETTINGS_INVALID naming every wrong setting */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  return parseSettings(settings, env);
}
