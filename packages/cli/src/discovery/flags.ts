/** The flags of `pilot-discovery discovery`: what each one sets here, or why it sets nothing. */
import type { Ports } from "../layout.ts";

/** A flag without a dash in front, as pilot-discovery spells it. */
export interface DiscoveryFlag {
  readonly name: string;
  readonly short?: string;
  /** The word for its value in the help; undefined: it takes none. */
  readonly value: string | undefined;
  readonly help: string;
  readonly effect: FlagEffect;
}

export type FlagEffect =
  /** Its value is that of a setting of the services. */
  | { readonly type: "setting"; readonly setting: string }
  /** `host:port` of a port, whose host is that of a setting. */
  | { readonly type: "address"; readonly port: keyof Ports; readonly hostSetting: string }
  /** Read by `discovery` itself. */
  | { readonly type: "own" }
  | { readonly type: "none"; readonly reason: string };

const setting = (name: string): FlagEffect => ({ type: "setting", setting: name });
const address = (port: keyof Ports, hostSetting: string): FlagEffect => ({ type: "address", port, hostSetting });
const none = (reason: string): FlagEffect => ({ type: "none", reason });

const noScopes = "log lines carry their part and errors their stack";
const notThrottled = "requests to the API server are not throttled; PILOT_STATUS_QPS bounds writes of statuses";
function flag(name: string, value: string | undefined, help: string, effect: FlagEffect): DiscoveryFlag {
  return { name, value, help, effect };
}

export const discoveryFlags: readonly DiscoveryFlag[] = [
  flag("caCertFile", "FILE", "root that the certificate of --tlsCertFile leads to", setting("WEBHOOK_CA_BUNDLE_FILE")),
  flag("clusterAliases", "ALIAS=CLUSTER,…", "other names of clusters", setting("CLUSTER_ALIASES")),
  flag("clusterID", "NAME", "name of the own cluster", setting("CLUSTER_ID")),
  flag(
    "clusterRegistriesNamespace",
    "NAMESPACE",
    "namespace of the Secrets that name other clusters",
    none("they lie in the namespace of the control plane, --namespace"),
  ),
  flag("cniNamespace", "NAMESPACE", "namespace of istio-cni", none("nothing here deals with pods of istio-cni")),
  flag("configDir", "DIR", "directory of configuration in place of a cluster's", { type: "own" }),
  flag("ctrlz_address", "ADDRESS", "address of the introspection pages", setting("INTROSPECTION_HOST")),
  flag("ctrlz_port", "PORT", "port of the introspection pages of xds-server", setting("INTROSPECTION_PORT")),
  flag("domain", "DOMAIN", "DNS suffix of Kubernetes services", setting("DOMAIN_SUFFIX")),
  flag("grpcAddr", "HOST:PORT", "xDS without TLS", address("xds", "XDS_HOST")),
  flag("httpAddr", "HOST:PORT", "readiness and debug pages", address("http", "HEALTH_HOST")),
  flag("httpsAddr", "HOST:PORT", "injection and validation", address("webhook", "WEBHOOK_HOST")),
  flag("keepaliveInterval", "DURATION", "interval of keepalive pings", setting("XDS_KEEPALIVE_INTERVAL")),
  flag(
    "keepaliveMaxServerConnectionAge",
    "DURATION",
    "maximum age of a connection of xDS",
    setting("XDS_MAX_CONNECTION_AGE"),
  ),
  flag("keepaliveTimeout", "DURATION", "time to answer a keepalive ping", setting("XDS_KEEPALIVE_TIMEOUT")),
  flag("kubeconfig", "PATH", "kubeconfig of the cluster to work for", setting("CLUSTER_KUBECONFIG")),
  flag("kubernetesApiBurst", "COUNT", "requests to the API server at once", none(notThrottled)),
  flag("kubernetesApiQPS", "RATE", "requests to the API server a second", none(notThrottled)),
  flag("log_as_json", undefined, "log lines as JSON", none("they always are")),
  flag("log_caller", "SCOPES", "scopes whose lines name the code", none(noScopes)),
  flag("log_output_level", "LEVELS", "log levels: LEVEL, or SCOPE:LEVEL,…", { type: "own" }),
  flag("log_stacktrace_level", "LEVELS", "levels from which lines have a stack", none(noScopes)),
  flag(
    "log_target",
    "PATHS",
    "where the log goes: stdout, stderr, or files, separated by commas",
    setting("LOG_TARGET"),
  ),
  flag("meshConfig", "FILE", "MeshConfig", setting("MESH_CONFIG_FILE")),
  flag("monitoringAddr", "HOST:PORT", "metrics and debug pages of xds-server", address("xdsHealth", "HEALTH_HOST")),
  { ...flag("namespace", "NAMESPACE", "namespace of the control plane", setting("POD_NAMESPACE")), short: "n" },
  flag("networksConfig", "FILE", "MeshNetworks", setting("MESH_NETWORKS_FILE")),
  flag("profile", undefined, "profiles on request", none("profiles are taken at the introspection pages")),
  flag("registries", "NAMES", "registries to read, of those that are configured", setting("REGISTRIES")),
  flag("secureGRPCAddr", "HOST:PORT", "xDS with TLS", address("xdsTls", "XDS_HOST")),
  flag("shutdownDuration", "DURATION", "longest time for a graceful end", setting("SHUTDOWN_DURATION")),
  flag("tls-cipher-suites", "NAMES", "cipher suites of TLS 1.2", setting("TLS_CIPHER_SUITES")),
  flag("tls-min-version", "VERSION", "lowest version of TLS", setting("TLS_MIN_VERSION")),
  flag("tlsCertFile", "FILE", "certificate of the ports with TLS", setting("TLS_CERT_FILE")),
  flag("tlsKeyFile", "FILE", "its key", setting("TLS_KEY_FILE")),
  flag("vklog", "LEVEL", "verbosity of Go's client of Kubernetes", none("there is no such client here")),
];
