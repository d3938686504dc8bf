/** Callers that may ask for certificates, the names they may ask for, and their rate. */
import { duration, integer, list } from "@flotilla/runtime";

export const callerSettings = {
  servingAccounts: list({
    env: "CA_SERVING_ACCOUNTS",
    default: ["flotilla-xds-server", "flotilla-webhook"],
    sentence: "Service accounts in the control plane's namespace that get serving certificates with its DNS names.",
  }),
  serverAccounts: list({
    env: "CA_SERVER_ACCOUNTS",
    default: [
      ...["flotilla-nats", "flotilla-redis", "flotilla-config-controller", "flotilla-service-controller"],
      "flotilla-console",
    ],
    sentence: "Service accounts there that get a certificate with the DNS names of the Service of their own name.",
  }),
  clockToleranceMs: duration({
    env: "TOKEN_CLOCK_TOLERANCE",
    default: 30_000,
    max: 600_000,
    sentence: "Tolerance for the clock of a token issuer.",
  }),
  trustedNetworks: list({
    env: "TRUSTED_GATEWAY_CIDR",
    default: [],
    sentence:
      "Networks whose gateways may name the caller in x-forwarded-client-cert; with any, this host is one of them.",
  }),
  forwardingAccounts: list({
    env: "CA_FORWARDING_ACCOUNTS",
    default: ["flotilla-xds-server"],
    sentence: "Service accounts in the control plane's namespace that hand on requests of others, naming the caller.",
  }),
  trustedNodeAccounts: list({
    env: "CA_TRUSTED_NODE_ACCOUNTS",
    default: [],
    sentence: "Service accounts (namespace/name) of node proxies, which ask for the pods of their node.",
  }),
  maxPendingPerIdentity: integer({
    env: "CA_MAX_PENDING_PER_IDENTITY",
    default: 4096,
    min: 1,
    sentence: "Requests of one identity that may wait; more are refused.",
  }),
  maxPending: integer({
    env: "CA_MAX_PENDING",
    default: 32_768,
    min: 1,
    sentence: "Requests that may wait altogether; more are refused.",
  }),
} as const;
