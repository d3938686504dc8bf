/** The settings of those who publish on the bus or follow it. */
import { defaultPorts, duration, integer, text } from "@flotilla/runtime";

/** For all that open the bus. */
export const busReplicasSetting = {
  busReplicas: integer({
    env: "BUS_REPLICAS",
    default: 1,
    min: 1,
    max: 5,
    sentence:
      "Copies of every stream and bucket in a cluster of NATS servers: 3 with three servers. Existing ones are raised to it, never lowered.",
  }),
} as const;

/** For all that open the bus, equal for all services. */
export const sealKeySetting = {
  sealKeyFile: text({
    env: "SEAL_KEY_FILE",
    default: undefined,
    sentence:
      "File with the key, equal for all services, that authenticates values of bus and snapshot and seals Secrets; without it Secrets are held back and nothing is authenticated.",
  }),
} as const;

/** Settings of every service that connects to the bus. */
export const busSettings = {
  ...busReplicasSetting,
  ...sealKeySetting,
  busUrl: text({
    env: "BUS_URL",
    default: `nats://127.0.0.1:${defaultPorts.nats.client}`,
    sentence:
      "NATS: nats://host:port or tls://host:port, several servers separated by commas, or embedded:NAME within one process. Options after ?: certificates=DIRECTORY, ca=FILE, credentials=FILE, nkey=FILE.",
  }),
} as const;

/** For `attestEvery`. */
export const attestSettings = {
  digestIntervalMs: duration({
    env: "DIGEST_INTERVAL",
    default: 60_000,
    min: 1_000,
    sentence:
      "Interval in which the stream is compared with the published state, and digests are published for subscribers.",
  }),
} as const;
