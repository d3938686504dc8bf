/** The settings of the console. */
import { caRootFileOf, caSettings } from "@flotilla/auth/serving";
import {
  defaultPorts,
  duration,
  flag,
  integer,
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

const pages = (env: string, service: string, port: number) =>
  list({
    env,
    default: [`http://127.0.0.1:${port}`],
    sentence: `Addresses of the health ports of ${service}, one for each replica or a name of several, as URL or NAME=URL.`,
  });

export const settings = {
  ...serviceSettings(defaultPorts.console.health),
  ...ownHostSettings,
  ...tlsPortSettings,
  host: text({ env: "CONSOLE_HOST", default: "127.0.0.1", sentence: "Address of the console." }),
  port: port({ env: "CONSOLE_PORT", default: defaultPorts.console.page, sentence: "Port of the console." }),
  isTls: flag({
    env: "CONSOLE_TLS",
    default: false,
    sentence: "The console is served over HTTPS: with the certificate of CONSOLE_CERT_FILE, else with one of ca.",
  }),
  certFile: text({
    env: "CONSOLE_CERT_FILE",
    default: undefined,
    sentence: "File with the certificate of the console and its chain; with it and CONSOLE_KEY_FILE, ca is not asked.",
  }),
  keyFile: text({ env: "CONSOLE_KEY_FILE", default: undefined, sentence: "File with the key of that certificate." }),
  servingNames: list({
    env: "CONSOLE_SERVING_NAMES",
    default: ["localhost"],
    sentence: "DNS names that the certificate of ca is for.",
  }),
  pageDir: text({
    env: "CONSOLE_PAGE_DIR",
    default: undefined,
    sentence: "Directory of the built page; that of packages/console if not set.",
  }),
  idleMs: duration({
    env: "CONSOLE_IDLE",
    default: 1_800_000,
    min: 1_000,
    sentence: "A session ends after so long without a request.",
  }),
  maxSessions: integer({
    env: "CONSOLE_MAX_SESSIONS",
    default: 200,
    min: 1,
    sentence: "Sessions at a time; more are refused with 429.",
  }),
  maxStreams: integer({
    env: "CONSOLE_MAX_STREAMS",
    default: 100,
    min: 1,
    sentence: "Streams of events at a time; more are refused with 429.",
  }),
  upstreamTimeoutMs: duration({
    env: "CONSOLE_UPSTREAM_TIMEOUT",
    default: 5_000,
    min: 100,
    sentence: "A service that has not answered within this time counts as away for the request.",
  }),
  configControllerPages: pages("CONSOLE_CONFIG_CONTROLLER", "config-controller", defaultPorts.configController.health),
  serviceControllerPages: pages(
    "CONSOLE_SERVICE_CONTROLLER",
    "service-controller",
    defaultPorts.serviceController.health,
  ),
  xdsServerPages: pages("CONSOLE_XDS_SERVER", "xds-server", defaultPorts.xdsServer.health),
  caPages: pages("CONSOLE_CA", "ca", defaultPorts.ca.health),
  webhookPages: pages("CONSOLE_WEBHOOK", "webhook", defaultPorts.webhook.health),
  proxyAdmin: list({
    env: "CONSOLE_PROXY_ADMIN",
    default: [],
    sentence: "Addresses of Envoy's admin interfaces, whose statistics are shown, as NAME.NAMESPACE=HOST:PORT.",
  }),
  proxyStatsPort: port({
    env: "CONSOLE_PROXY_STATS_PORT",
    default: undefined,
    sentence:
      "Port of the Prometheus statistics of every proxy, such as 15090 in pods, asked at the address that a proxy connects from; none if not set.",
  }),
  apiUrl: text({
    env: "CONSOLE_API",
    default: undefined,
    sentence: "URL of the API of config-controller; if not set, that which its pages name.",
  }),
  ...caSettings,
  caAddress: text({
    env: "CA_ADDRESS",
    default: `127.0.0.1:${defaultPorts.ca.grpc}`,
    sentence: "host:port of ca, which issues the certificate of the console.",
  }),
  workDir: text({
    env: "WORK_DIR",
    default: ".flotilla",
    sentence: "Directory of the local token issuer and of the root that the API is trusted by.",
  }),
  namespace: text({ env: "POD_NAMESPACE", default: "istio-system", sentence: "Namespace of the control plane." }),
  podName: text({ env: "POD_NAME", default: undefined, sentence: "Name of this replica; the host's if not set." }),
} as const;

export interface Settings extends SettingsOf<typeof settings> {
  /** Of the roots that the API's certificate is checked against. */
  readonly rootFile: string;
}

/** The frame that its parts run in. */
export type ConsoleService = Service<Settings>;

/** @throws RuntimeError SETTINGS_INVALID naming every wrong setting */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const values = parseSettings(settings, env);
  return { ...values, rootFile: caRootFileOf(values) };
}
