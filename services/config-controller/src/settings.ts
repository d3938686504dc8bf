/** The settings of config-controller. */
import { clientCertificateSettings } from "@flotilla/auth/serving";
import { attestSettings, busSettings } from "@flotilla/bus";
import { injectionSettings } from "@flotilla/injection";
import { apiServerSettings, remoteClusterSettings } from "@flotilla/kube-api";
import { electionSettings } from "@flotilla/leadership";
import {
  defaultPorts,
  flag,
  integer,
  list,
  ownHostSettings,
  parseSettings,
  type Service,
  type SettingsOf,
  serviceSettings,
  text,
} from "@flotilla/runtime";
import { apiSettings } from "./api/api-settings.ts";
import { gatewaySettings } from "./duties/gateways/gateway-settings.ts";
import { issuerKeySettings } from "./issuer-keys/issuer-key-settings.ts";
import { gatewayApiSettings } from "./watch/gateway-api-settings.ts";

export const settings = {
  ...serviceSettings(defaultPorts.configController.health),
  ...ownHostSettings,
  ...busSettings,
  ...clientCertificateSettings,
  ...attestSettings,
  writesStatus: flag({
    env: "PILOT_ENABLE_STATUS",
    default: true,
    sentence: "The status of objects is written to Kubernetes, by the one config-controller that has the duty.",
  }),
  analyzes: flag({
    env: "PILOT_ENABLE_ANALYSIS",
    default: false,
    sentence:
      "Objects are analyzed beside each other; findings stand in the condition PassedAnalysis of their status. Takes about 8 kB of memory an object.",
  }),
  analyzedServices: integer({
    env: "ANALYSIS_MAX_SERVICES",
    default: 10_000,
    min: 0,
    max: 1_000_000,
    sentence:
      "Most services that are kept for PILOT_ENABLE_ANALYSIS, about 6 kB each, to find hosts and ports that no service has; in larger meshes, and with 0, these are not looked for.",
  }),
  statusWritesPerSecond: integer({
    env: "PILOT_STATUS_QPS",
    default: 20,
    min: 1,
    max: 1_000,
    sentence: "Maximum number of these writes a second.",
  }),
  ledgerGenerations: integer({
    env: "LEDGER_GENERATIONS",
    default: 1_000,
    min: 2,
    max: 100_000,
    sentence:
      "Generations of the configuration that are kept to be read back; one of many objects counts several times.",
  }),
  configDir: text({
    env: "CONFIG_DIR",
    default: undefined,
    sentence: "Directory of YAML and JSON files with configuration; followed while running.",
  }),
  ...apiServerSettings,
  ...remoteClusterSettings,
  remoteSecrets: flag({
    env: "PILOT_ENABLE_REMOTE_CREDENTIALS_CONTROLLER",
    default: true,
    sentence: "Secrets of other clusters are read, for the proxies there; xds-server needs it too.",
  }),
  ...electionSettings,
  revision: text({
    env: "REVISION",
    default: "default",
    sentence:
      "Objects with the label istio.io/rev are read only if it names this revision, or a tag that points at it.",
  }),
  podName: text({
    env: "POD_NAME",
    default: undefined,
    sentence: "Name of this replica among those of which one publishes; made up when not set.",
  }),
  domain: text({ env: "DOMAIN_SUFFIX", default: "cluster.local", sentence: "DNS suffix of Kubernetes services." }),
  ingressNamespace: text({
    env: "K8S_INGRESS_NS",
    default: "istio-system",
    sentence: "Namespace of the gateway's Service, whose addresses are written into the status of Ingresses.",
  }),
  installDefinitions: flag({
    env: "INSTALL_CRDS",
    default: false,
    sentence:
      "CRDs of Istio's kinds are made where they are missing; those that an older version made are brought up to date.",
  }),
  watchedNamespaces: list({
    env: "ISTIO_WATCH_NAMESPACE",
    default: [],
    sentence: "Namespaces of the cluster whose objects are read, separated by commas; none means all.",
  }),
  ignoredResources: list({
    env: "PILOT_IGNORE_RESOURCES",
    default: [],
    sentence: "Resources that are not read from the cluster, as virtualservices.networking.istio.io or *.GROUP.",
  }),
  ...gatewayApiSettings,
  includedResources: list({
    env: "PILOT_INCLUDE_RESOURCES",
    default: [],
    sentence: "Resources that are read although PILOT_IGNORE_RESOURCES names them or their group.",
  }),
  meshConfigFile: text({
    env: "MESH_CONFIG_FILE",
    default: undefined,
    sentence:
      "File of the MeshConfig, merged over the defaults; followed while running. Without it, or while it is not there at start, a cluster's ConfigMap istio or istio-REVISION.",
  }),
  sharedMeshConfig: text({
    env: "SHARED_MESH_CONFIG",
    default: undefined,
    sentence: "A ConfigMap of POD_NAMESPACE whose MeshConfig is merged under this revision's own.",
  }),
  meshNetworksFile: text({
    env: "MESH_NETWORKS_FILE",
    default: undefined,
    sentence: "File of the MeshNetworks; followed while running. Without it, the same ConfigMap.",
  }),
  ...gatewaySettings,
  ...issuerKeySettings,
  ...injectionSettings,
  ...apiSettings,
} as const;

export type Settings = SettingsOf<typeof settings>;
/** The frame that its parts run in. */
export type ConfigService = Service<Settings>;

/** @throws RuntimeError SETTINGS_INVALID naming every wrong setting */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  return parseSettings(settings, env);
}
