/** Selects the Consul to read, and how. Names are those of Consul's own tools where they have them. */
import { duration, integer, list, text, url } from "@flotilla/runtime";

export const consulSettings = {
  consulUrl: url({
    env: "CONSUL_HTTP_ADDR",
    default: undefined,
    schemes: ["http", "https"],
    sentence: "A Consul agent whose services are read.",
  }),
  consulToken: text({
    env: "CONSUL_HTTP_TOKEN",
    default: undefined,
    sentence: "ACL token towards Consul; it needs node:read and service:read.",
  }),
  consulTokenFile: text({
    env: "CONSUL_HTTP_TOKEN_FILE",
    default: undefined,
    sentence: "File with the ACL token, read anew for each question; it wins over CONSUL_HTTP_TOKEN.",
  }),
  consulCaFile: text({
    env: "CONSUL_CACERT",
    default: undefined,
    sentence: "PEM file of the authorities that the agent's certificate is checked with; those of the system without.",
  }),
  consulDatacenters: list({
    env: "CONSUL_DATACENTERS",
    default: [],
    sentence:
      "Datacenters whose services are read: * for all of the agent's list, also as they come and go; the agent's own when empty.",
  }),
  consulNamespaces: list({
    env: "CONSUL_NAMESPACE",
    default: [],
    sentence: "Namespaces of Consul that are read; empty for a Consul without.",
  }),
  consulPartition: text({ env: "CONSUL_PARTITION", default: "", sentence: "The admin partition that is read." }),
  consulConnections: integer({
    env: "CONSUL_CONNECTIONS",
    default: 150,
    min: 1,
    max: 10_000,
    sentence: "Questions that wait at the agent at once; an agent takes 200 connections of a client by default.",
  }),
  consulSyncTimeoutMs: duration({
    env: "CONSUL_SYNC_TIMEOUT",
    default: 30_000,
    sentence: "Maximum wait of the first snapshot for Consul; its last published state stays then.",
  }),
} as const;
