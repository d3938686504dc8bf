/** Messages on Gateways. */
import type { Message } from "./message.ts";

export const gatewayMessages = {
  GatewayDuplicateCertificate: {
    code: "IST0138",
    level: "Warning",
    template: "gateways {gateways} serve the same certificate: requests over one HTTP/2 connection may get 404",
    description:
      "Browsers use one connection for all hosts of a certificate, and a connection leads to the routes of one Gateway. Join the servers in one Gateway.",
  },
  ConflictingGateways: {
    code: "IST0145",
    level: "Error",
    template: "gateways {gateways} have hosts {hosts} on port {port} of the same workloads ({selector})",
    description:
      "One of the servers is in force, and which one depends on their age. Give them different hosts, ports or workloads.",
  },
  InvalidGatewayCredential: {
    code: "IST0161",
    level: "Error",
    template: "Secret {secret} cannot be served: {reason}",
    description: "The Secret has no certificate with its key, or one that has expired. The server refuses connections.",
  },
  GatewayPortNotOnService: {
    code: "IST0162",
    level: "Warning",
    template: "no Service of the workloads {selector} leads to port {port}",
    description: "The gateway listens there, but no Service leads to the port.",
  },
  IneffectiveSelector: {
    code: "IST0166",
    level: "Warning",
    template: "the selector has no effect on Gateway {gateway} of the Gateway API: use targetRefs",
    description: "Policies reach the workloads of a Gateway of the Gateway API by naming it.",
  },
} as const satisfies Readonly<Record<string, Message>>;
