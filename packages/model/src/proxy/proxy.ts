/** A connected proxy, from the fields of its node, checked once per stream and never mutated. */
import type { Labels } from "../config/selector.ts";
import type { NodeMetadata } from "./node-metadata.ts";

export type ProxyType = "sidecar" | "router" | "waypoint" | "ztunnel" | "agentgateway";

/** The families of a proxy's addresses. */
export type IpMode = "ipv4" | "ipv6" | "dual";

export interface Locality {
  readonly region: string;
  readonly zone: string;
  readonly subzone: string;
}

export interface Proxy {
  /** `name.namespace` for pods. */
  readonly id: string;
  readonly type: ProxyType;
  /** `GENERATOR` metadata: `grpc` and `api` get resources of their own. */
  readonly generator: string;
  /** Never empty; the first is the primary one. */
  readonly ipAddresses: readonly string[];
  /** The namespace whose configuration applies. */
  readonly namespace: string;
  /** `ns.svc.cluster.local` or empty. */
  readonly dnsDomain: string;
  readonly labels: Labels;
  readonly locality: Locality;
  readonly clusterId: string;
  /** The cluster that the client declares to be part of (`--service-cluster`), `app.namespace` for pods. */
  readonly nodeCluster: string;
  readonly network: string;
  readonly serviceAccount: string;
  /** Undefined: unknown, treated as newest. */
  readonly version: IstioVersion | undefined;
  /** Type URLs compiled into the client; undefined: it did not report them, which means unknown, not none. */
  readonly extensions: ReadonlySet<string> | undefined;
  readonly metadata: NodeMetadata;
}

export interface IstioVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Reads `1.32.0`, `1.32-dev`, `1.32-alpha.hash`; undefined when there is no version in it. */
export function parseIstioVersion(text: string): IstioVersion | undefined {
  const found = /^(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  if (found === null) return undefined;
  // A development build without a patch number counts as newer than every release of its minor.
  return { major: Number(found[1]), minor: Number(found[2]), patch: found[3] === undefined ? 65535 : Number(found[3]) };
}

/** Negative when `a` is older than `b`; an unknown version is newer than all. */
export function compareIstioVersions(a: IstioVersion | undefined, b: IstioVersion | undefined): number {
  if (a === undefined || b === undefined) return (a === undefined ? 1 : 0) - (b === undefined ? 1 : 0);
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

export function localityText({ region, zone, subzone }: Locality): string {
  const text = [region, zone, subzone].join("/");
  // The parts come from clients: an expression for trailing slashes would take the square of their number.
  let end = text.length;
  while (text[end - 1] === "/") end--;
  return text.slice(0, end);
}

export function parseLocality(text: string): Locality {
  const [region = "", zone = "", subzone = ""] = text.split("/");
  return { region, zone, subzone };
}
