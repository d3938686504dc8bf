/** Where a control plane on one host keeps its files, and on which ports its services listen. */
import { join } from "node:path";
import { defaultPorts } from "@flotilla/runtime";

export interface Layout {
  readonly workDir: string;
  readonly ports: Ports;
}

export interface Ports {
  readonly xds: number;
  readonly xdsTls: number;
  readonly http: number;
  readonly xdsHealth: number;
  readonly configHealth: number;
  readonly serviceHealth: number;
  readonly ca: number;
  readonly caHealth: number;
  readonly webhook: number;
  readonly webhookHealth: number;
  /** 0: any free one, which config-controller shows. */
  readonly api: number;
  readonly console: number;
  readonly consoleHealth: number;
}

export const services = ["ca", "config-controller", "service-controller", "xds-server", "webhook", "console"] as const;
export type ServiceName = (typeof services)[number];

/** How many replicas of a service run; one of each that is not named, of the console none. */
export type ReplicaCounts = Partial<Readonly<Record<ServiceName, number>>>;

/** The table of default ports, or twelve in a row from `first`. */
export function portsFrom(first: number | undefined): Ports {
  if (first === undefined) {
    const { xdsServer, configController, serviceController, ca, webhook, console } = defaultPorts;
    return {
      xds: xdsServer.xds,
      xdsTls: xdsServer.xdsTls,
      http: xdsServer.http,
      xdsHealth: xdsServer.health,
      configHealth: configController.health,
      serviceHealth: serviceController.health,
      ca: ca.grpc,
      caHealth: ca.health,
      webhook: webhook.https,
      webhookHealth: webhook.health,
      api: configController.api,
      console: console.page,
      consoleHealth: console.health,
    };
  }
  const at = (place: number): number => first + place;
  return {
    ...{ xds: at(0), xdsTls: at(1), http: at(2), xdsHealth: at(3), configHealth: at(4), serviceHealth: at(5), api: 0 },
    ...{ ca: at(6), caHealth: at(7), webhook: at(8), webhookHealth: at(9), console: at(10), consoleHealth: at(11) },
  };
}

/** The ports of each service: one for its health and debug pages, which every replica has of its own, and those of its clients. */
export const portsOf: Readonly<
  Record<ServiceName, { readonly health: keyof Ports; readonly clients: readonly (keyof Ports)[] }>
> = {
  ca: { health: "caHealth", clients: ["ca"] },
  "config-controller": { health: "configHealth", clients: ["api"] },
  "service-controller": { health: "serviceHealth", clients: [] },
  "xds-server": { health: "xdsHealth", clients: ["xds", "xdsTls", "http"] },
  webhook: { health: "webhookHealth", clients: ["webhook"] },
  console: { health: "consoleHealth", clients: ["console"] },
};

export function healthPort(service: ServiceName, ports: Ports): number {
  return ports[portsOf[service].health];
}

export function paths({ workDir }: Pick<Layout, "workDir">) {
  return {
    /** Keys and JWKS of the local token issuer. */
    tokens: join(workDir, "tokens"),
    ca: join(workDir, "ca"),
    /** The roots that every client trusts. */
    root: join(workDir, "root-cert.pem"),
    /** First proofs of our own services, for ca. */
    serviceToken: (service: ServiceName) => join(workDir, "tokens", `${service}.jwt`),
    sealKey: join(workDir, "seal.key"),
    logs: join(workDir, "logs"),
    /** Compiled code of the services, so that a restart does not compile again. */
    compiledCode: join(workDir, "compiled-code"),
    servers: join(workDir, "servers"),
    /** Credentials of each service for NATS and Redis. */
    credentials: join(workDir, "credentials"),
    /** State that a running control plane records for other commands. */
    state: join(workDir, "flotilla.json"),
  };
}
