/** The settings of xds-server. Settings that istiod has keep its names. */
import { issuerSettings, type JwtRule, jwtRulesOf } from "@flotilla/auth";
import { clusterSettings } from "@flotilla/auth/cluster";
import { caRootFileOf, caSettings, clientCertificateSettings, keyPairSettings } from "@flotilla/auth/serving";
import { busSettings } from "@flotilla/bus";
import {
  defaultPorts,
  duration,
  flag,
  integer,
  list,
  parseSettings,
  port,
  type Service,
  type SettingsOf,
  serviceSettings,
  text,
  tlsPortSettings,
} from "@flotilla/runtime";
import { secretSettings } from "./app/secret-settings.ts";
import { debugSettings } from "./debug/debug-settings.ts";
import { featureSettings } from "./snapshot/features.ts";

export const settings = {
  ...serviceSettings(defaultPorts.xdsServer.health),
  host: text({ env: "XDS_HOST", default: "0.0.0.0", sentence: "Address of the xDS ports." }),
  port: port({ env: "XDS_PORT", default: defaultPorts.xdsServer.xds, sentence: "Port of xDS without TLS." }),
  tlsPort: port({ env: "XDS_TLS_PORT", default: defaultPorts.xdsServer.xdsTls, sentence: "Port of xDS with TLS." }),
  httpPort: port({
    env: "HTTP_PORT",
    default: defaultPorts.xdsServer.http,
    sentence: "Port of readiness and debug pages.",
  }),
  ...busSettings,
  storeUrl: text({
    env: "STORE_URL",
    default: `redis://127.0.0.1:${defaultPorts.redis.client}`,
    sentence:
      "The snapshot: redis://host:port or rediss://host:port, the primary that Sentinels name by redis+sentinel://host1:26379,host2,host3/NAME, or embedded:NAME within one process. Options after ?: certificates=DIRECTORY, ca=FILE, sentinelUser, sentinelPassword.",
  }),
  publishers: list({
    env: "REQUIRED_PUBLISHERS",
    default: ["config-controller", "service-controller"],
    sentence: "The controllers whose whole state makes a complete mesh.",
  }),
  ...caSettings,
  caAddress: text({
    env: "CA_ADDRESS",
    default: undefined,
    sentence: "host:port of ca; without it there is no TLS port.",
  }),
  ...keyPairSettings,
  ...tlsPortSettings,
  ...clientCertificateSettings,
  namespace: text({ env: "POD_NAMESPACE", default: "istio-system", sentence: "Namespace of the control plane." }),
  trustDomain: text({
    env: "TRUST_DOMAIN",
    default: undefined,
    sentence: "Trust domain of the identities; that of the MeshConfig if not set, or cluster.local.",
  }),
  ...issuerSettings,
  authenticatePlaintext: flag({
    env: "XDS_AUTH_PLAINTEXT",
    default: false,
    sentence:
      "The plaintext port takes a token, if one is sent, for the caller's identity; Secrets are sent over TLS only.",
  }),
  ...secretSettings,
  ...debugSettings,
  apiAuth: flag({
    env: "ENABLE_XDS_API_GENERATOR_AUTH",
    default: true,
    sentence:
      'Streams that ask for configuration as such (GENERATOR "api") must prove an identity of the root namespace.',
  }),
  podName: text({ env: "POD_NAME", default: undefined, sentence: "Name of this replica; the host's if not set." }),
  ...clusterSettings,
  streamsPerSecond: integer({
    env: "PILOT_MAX_REQUESTS_PER_SECOND",
    default: 500,
    min: 1,
    sentence: "New streams that are admitted a second.",
  }),
  debounceAfterMs: duration({
    env: "PILOT_DEBOUNCE_AFTER",
    default: 10,
    min: 0,
    max: 60_000,
    sentence: "Least time between two batches of changes; the first change of a quiet mesh is applied at once.",
  }),
  debounceMaxMs: duration({
    env: "PILOT_DEBOUNCE_MAX",
    default: 1_000,
    min: 0,
    max: 600_000,
    sentence: "No change waits longer for others than this, however busy the mesh is.",
  }),
  concurrentPushes: integer({
    env: "PILOT_PUSH_THROTTLE",
    default: 256,
    min: 1,
    sentence: "Messages that are on their way to proxies at a time.",
  }),
  maxRequestBytes: integer({
    env: "ISTIO_GPRC_MAXRECVMSGSIZE",
    default: 4 * 1024 * 1024,
    min: 1024,
    sentence: "Size of the largest request that is read, in bytes.",
  }),
  maxStreams: integer({
    env: "ISTIO_GPRC_MAXSTREAMS",
    default: 100_000,
    min: 1,
    sentence: "Streams of one connection.",
  }),
  maxNames: integer({
    env: "XDS_MAX_NAMES_PER_STREAM",
    default: 50_000,
    min: 1_000,
    sentence:
      "Resource names that one stream may subscribe to, of all types together; a stream that asks for more is closed.",
  }),
  handOffPerSecond: integer({
    env: "XDS_HANDOFF_PER_SECOND",
    default: 25,
    min: 0,
    sentence: "Streams that a replica with more than its share asks to connect again, a second; 0 for none.",
  }),
  keepaliveMs: duration({
    env: "XDS_KEEPALIVE_INTERVAL",
    alias: "GRPC_KEEPALIVE_INTERVAL",
    default: 30_000,
    min: 1_000,
    sentence: "Interval of HTTP/2 keepalive pings on a connection that receives nothing.",
  }),
  keepaliveTimeoutMs: duration({
    env: "XDS_KEEPALIVE_TIMEOUT",
    alias: "GRPC_KEEPALIVE_TIMEOUT",
    default: 10_000,
    min: 100,
    sentence: "A connection that does not answer for this long is closed.",
  }),
  maxConnectionAgeMs: duration({
    env: "XDS_MAX_CONNECTION_AGE",
    default: undefined,
    min: 1_000,
    sentence: "Maximum age of a connection, ±10 % jitter; unlimited if not set.",
  }),
  stuckClientMs: duration({
    env: "PILOT_XDS_SEND_TIMEOUT",
    default: 30_000,
    min: 100,
    sentence: "A client that takes no byte for this long is closed.",
  }),
  ...featureSettings,
} as const;

/** The frame that its parts run in. */
export type XdsService = Service<Settings>;

export interface Settings extends SettingsOf<typeof settings> {
  readonly rootFile: string;
  readonly jwtRules: readonly JwtRule[];
}

/** @throws RuntimeError SETTINGS_INVALID naming every wrong setting */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const values = parseSettings(settings, env);
  return {
    ...values,
    rootFile: caRootFileOf(values),
    jwtRules: jwtRulesOf(values),
  };
}
