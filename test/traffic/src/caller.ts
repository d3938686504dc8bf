/** Outcomes of the calls of a workload, and of calls to it, by the configuration of its proxy. */
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { type Call, type Configuration, type Meeting, meet, resolveHost, textAt } from "@flotilla/traffic";
import { describeAuthorization, describeEndpoints, describePolicy, describeTarget } from "./describe.ts";

export interface CallOptions {
  readonly method?: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ArrivalOptions {
  readonly protocol?: "http" | "tcp";
  /** `mtls` has a certificate of the mesh. Plain text when absent. */
  readonly tls?: "tls" | "mtls";
}

/** The proxy's resources of a type in their JSON form: those of the names, or all. */
export type ResourcesOf = (type: string, names?: readonly string[]) => readonly JsonObject[];

/** URLs are `http:`, `https:` (TLS to the callee, by the host as server name) and `tcp:`. */
export class Caller {
  readonly #namespace: string;
  readonly #resources: ResourcesOf;

  constructor(namespace: string, resources: ResourcesOf) {
    this.#namespace = namespace;
    this.#resources = resources;
  }

  /** Where a call goes: its clusters with their weights, a status, or why it fails. */
  calls(url: string, options: CallOptions = {}): string {
    return describeTarget(this.#meet(url, options));
  }

  /** The endpoints that it may reach, by priority. */
  reaches(url: string, options: CallOptions = {}): string {
    const name = clusterOf(this.#meet(url, options));
    return describeEndpoints(this.#cluster(name), this.#resources(typeUrl.endpoint, [name])[0]);
  }

  /** How it is made: timeouts, retries, balancing, TLS. */
  policy(url: string, options: CallOptions = {}): string {
    const met = this.#meet(url, options);
    return describePolicy(met, this.#cluster(clusterOf(met)));
  }

  /** The outcome of a connection to the workload's port. */
  receives(port: number, options: ArrivalOptions = {}): string {
    return describeTarget(this.#arrive(port, options));
  }

  /** The policies it is held against. */
  authorizes(port: number, options: ArrivalOptions = {}): string {
    return describeAuthorization(this.#arrive(port, options));
  }

  #meet(url: string, { method = "GET", headers = {} }: CallOptions): Meeting {
    const { protocol, hostname, port, pathname, search } = new URL(url);
    const call: Call = {
      Address: this.#resolve(hostname),
      Port: Number(port || (protocol === "https:" ? 443 : 80)),
      HostHeader: headers["host"] ?? hostname,
      Path: `${pathname}${search}`,
      Protocol: protocol === "tcp:" ? "tcp" : "http",
      TLS: protocol === "https:" ? "tls" : "plaintext",
      Sni: protocol === "https:" ? hostname : "",
      CallMode: "outbound",
      Method: method,
      Headers: headers,
    };
    return meet(this.#configuration(), call);
  }

  #arrive(port: number, { protocol = "http", tls }: ArrivalOptions): Meeting {
    return meet(this.#configuration(), {
      Address: "10.0.0.1",
      Port: port,
      Protocol: protocol,
      TLS: tls ?? "plaintext",
      CallMode: "inbound",
      HostHeader: "app",
    });
  }

  #cluster(name: string): JsonObject | undefined {
    return this.#resources(typeUrl.cluster).find((cluster) => textAt(cluster, "name") === name);
  }

  /** An address stands for itself; a name for what the proxy's table gives, or some address of no service. */
  #resolve(hostname: string): string {
    if (/^[\d.]+$/.test(hostname)) return hostname;
    const [table] = this.#resources(typeUrl.nameTable);
    return resolveHost(table, this.#namespace, hostname) ?? "192.0.2.1";
  }

  #configuration(): Configuration {
    return {
      listeners: this.#resources(typeUrl.listener),
      routes: (name) => this.#resources(typeUrl.route, [name])[0],
    };
  }
}

/** The one cluster of a call that is not split. */
function clusterOf({ outcome }: Meeting): string {
  return outcome.cluster ?? "";
}
