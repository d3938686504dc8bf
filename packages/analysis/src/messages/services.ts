/** Messages on services and their workloads, and on the installation. */
import type { Message } from "./message.ts";

export const serviceMessages = {
  DeploymentWithSeveralProtocols: {
    code: "IST0116",
    level: "Warning",
    template: "Services {services} of Deployment {deployment} have port {port} with different protocols",
    description: "A sidecar listens for one protocol on a port of its workload.",
  },
  PortNameWithoutProtocol: {
    code: "IST0118",
    level: "Info",
    template: "the name of port {port} ({name}) begins with no protocol: it is found out for each connection",
    description:
      "Name ports http, http-web, grpc, tcp …, or set appProtocol, so that no time is lost and nothing is mistaken.",
  },
  UnknownRegistry: {
    code: "IST0126",
    level: "Error",
    template: "network {network} names registry {registry}, which is unknown",
    description: "A registry is Kubernetes or the name of a cluster that a secret for remote clusters has.",
  },
  ServiceEntryAddressesRequired: {
    code: "IST0134",
    level: "Warning",
    template:
      "a port serves TCP and the ServiceEntry has no addresses: proxies take every connection to the port for it",
    description:
      "TCP has no host name, so addresses are all that connections differ by. Give addresses, or have them allocated.",
  },
  DeploymentConflictingPorts: {
    code: "IST0137",
    level: "Warning",
    template:
      "Services {services} of Deployment {deployment} lead from ports {ports} to the same targetPort {targetPort}",
    description: "A sidecar takes connections to a port of its workload for one port of one Service.",
  },
  InvalidWebhook: {
    code: "IST0139",
    level: "Error",
    template: "{reason}",
    description: "The webhook configuration leads to no Service, or pods are injected by two of them.",
  },
  ExternalNamePortName: {
    code: "IST0150",
    level: "Warning",
    template:
      "a port of the ExternalName Service is taken for TCP by its name, which may keep other traffic of the port from being forwarded",
    description: "Name the port after its protocol, such as https or tls.",
  },
  InvalidExternalControlPlane: {
    code: "IST0163",
    level: "Warning",
    template: "webhook {webhook} has no usable address of the control plane: {address} {reason}",
    description: "A webhook names a Service of its cluster or the URL of an external control plane.",
  },
  ExternalControlPlaneByAddress: {
    code: "IST0164",
    level: "Info",
    template: "webhook {webhook} reaches the control plane by IP address ({address})",
    description: "A host name survives a change of the address.",
  },
  ServiceDiffersBetweenClusters: {
    code: "IST0170",
    level: "Warning",
    template: "the Service differs between clusters {clusters}: {differences}",
    description:
      "A mesh of several clusters has one service of each name. Its type and ports are those of one of the clusters, so that calls to the others may fail.",
  },
  ConflictingServiceEntryProtocols: {
    code: "IST0177",
    level: "Warning",
    template: "ServiceEntries {serviceEntries} give port {port} of host {host} different protocols: {protocols}",
    description: "A proxy takes one protocol for a port of a host, and which one is not defined.",
  },
} as const satisfies Readonly<Record<string, Message>>;
