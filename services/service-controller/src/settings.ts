/** The settings of service-controller. */
import { caSettings, clientCertificateSettings } from "@flotilla/auth/serving";
import { attestSettings, busSettings } from "@flotilla/bus";
import { apiServerSettings, remoteClusterSettings } from "@flotilla/kube-api";
import { electionSettings } from "@flotilla/leadership";
import { registrySettings } from "@flotilla/registry";
import {
  defaultPorts,
  duration,
  flag,
  listOf,
  ownHostSettings,
  parseSettings,
  type Service,
  type SettingsOf,
  serviceSettings,
  text,
} from "@flotilla/runtime";
import { kubernetesSettings, multiClusterSettings } from "./watch/cluster-settings.ts";
import { consulSettings } from "./watch/consul-settings.ts";

export const settings = {
  ...serviceSettings(defaultPorts.serviceController.health),
  ...ownHostSettings,
  ...busSettings,
  ...caSettings,
  ...clientCertificateSettings,
  ...attestSettings,
  configDir: text({
    env: "CONFIG_DIR",
    default: undefined,
    sentence: "Directory with Services, EndpointSlices, Pods, Nodes and Namespaces; followed while running.",
  }),
  registryFile: text({
    env: "REGISTRY_FILE",
    default: undefined,
    sentence:
      "A YAML file with services and endpoints of their own, followed while running; see docs/registry-file.md.",
  }),
  registries: listOf({
    env: "REGISTRIES",
    default: [],
    values: ["Kubernetes", "Consul"],
    sentence:
      "Registries to read (Kubernetes, Consul) of those that are configured: Kubernetes where there is a cluster, Consul where CONSUL_HTTP_ADDR is set; empty for all.",
  }),
  podName: text({
    env: "POD_NAME",
    default: undefined,
    sentence: "Name of this replica among those of which one publishes; made up when not set.",
  }),
  ...registrySettings,
  ...apiServerSettings,
  ...remoteClusterSettings,
  ...kubernetesSettings,
  ...multiClusterSettings,
  ...electionSettings,
  ...consulSettings,
  auditEveryMs: duration({
    env: "REGISTRY_AUDIT_PERIOD",
    default: 300_000,
    min: 1_000,
    sentence: "Interval in which the state of API servers and Consul is compared with a fresh list.",
  }),
  auditSettleMs: duration({
    env: "REGISTRY_AUDIT_SETTLE",
    default: 5_000,
    sentence: "A difference that is still the same after this is repaired: no event is under way for that long.",
  }),
  autoRegistration: flag({
    env: "PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION",
    default: true,
    sentence: "Machines that ask for it (AUTO_REGISTER_GROUP) are registered while they are connected.",
  }),
  machineGraceMs: duration({
    env: "PILOT_WORKLOAD_ENTRY_GRACE_PERIOD",
    default: 10_000,
    sentence: "Time that a machine stays registered after its last connection to any replica of xds-server.",
  }),
} as const;

export type Settings = SettingsOf<typeof settings>;
/** The frame that its parts run in. */
export type RegistryService = Service<Settings>;

/** @throws RuntimeError SETTINGS_INVALID naming every wrong setting */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  return parseSettings(settings, env);
}
