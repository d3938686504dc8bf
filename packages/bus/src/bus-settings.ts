/** The settings of those who publish on the bus or follow it. */
import { defaultPorts, duration, text } from "@flotilla/runtime";

export const busSettings = {
  busUrl: text({
    env: "BUS_URL",
    default: `nats://127.0.0.1:${defaultPorts.nats.client}`,
    sentence: "The bus: nats://host:port, several separated by commas, or embedded:NAME within one process.",
  }),
} as const;

/** For `attestEvery`. */
export const attestSettings = {
  digestIntervalMs: duration({
    env: "DIGEST_INTERVAL",
    default: 60_000,
    min: 1_000,
    sentence: "How often the stream is compared with what was published, and digests are told for those who follow.",
  }),
} as const;
