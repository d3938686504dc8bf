/** A connected proxy as computations see it: the facts it reported of itself, and the services it stands for. */
import type { Labels, Locality, Proxy } from "@flotilla/model";

export interface Subject {
  readonly proxy: Proxy;
  /** The service ports this proxy answers, in the order in which inbound configuration is built. */
  readonly targets: readonly ServiceTarget[];
  /** The workload's locality in its registry; absent where it has none, so that the proxy's own report counts. */
  readonly locality?: Locality;
  /** The workload's labels in its registry, with those of its place; absent while they are found out, so that the proxy's own report counts. */
  readonly labels?: Labels;
  /** The permission of the account that the caller proved to read Secrets of its namespace; undefined where no permission is known. */
  readonly secretAccess?: SecretAccess;
  /** The caller proved who it is, over TLS: secrets that the objects of its namespace name may be sent to it. */
  readonly isProven?: boolean;
}

export type SecretAccess = "granted" | "refused";

/** One port of a service for which the proxy is an instance. */
export interface ServiceTarget {
  readonly namespace: string;
  readonly hostname: string;
  /** The service's port number. */
  readonly port: number;
  readonly portName: string;
  /** The workload's port number. */
  readonly targetPort: number;
}
