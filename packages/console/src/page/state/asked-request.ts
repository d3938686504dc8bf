/** The request in the address, and what becomes of it in the end: of each share, by the proxy that decides. */
import type { PathEnd, ProxyWay, RequestPathQuery, RequestProtocol } from "../../contract/index.ts";
import type { Place } from "./router.ts";

export const protocols: readonly RequestProtocol[] = ["http", "http2", "https", "tcp", "tls"];

/** Texts of the form, as the address has them. */
export const requestFields = [
  "from",
  "protocol",
  "method",
  "host",
  "port",
  "path",
  "headers",
  "claims",
  "address",
] as const;

export type RequestField = (typeof requestFields)[number];

/** Undefined while the address does not name a proxy and a host. */
export function askedWay({ query }: Place): RequestPathQuery | undefined {
  const given = requestFields.flatMap((name) => {
    const value = query.get(name);
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  const asked = Object.fromEntries(given) as Partial<Record<RequestField, string>>;
  if (asked.from === undefined || asked.host === undefined) return undefined;
  return asked as unknown as RequestPathQuery;
}

/** The end of a share of the requests. */
export interface Outcome {
  /** Percent of all requests. */
  readonly share: number;
  readonly proxy: string;
  /** Cluster by which it leaves the first proxy; empty where it ends there. */
  readonly cluster: string;
  readonly end: PathEnd;
  /** Hops on the whole way that may decide otherwise. */
  readonly unless: readonly string[];
  /** Why the way is lost behind the proxy; undefined where its end is known. */
  readonly unseen: string | undefined;
}

/** Leaves of a way, in its order. */
export function outcomesOf(way: ProxyWay): readonly Outcome[] {
  return leaves(way, { share: 100, cluster: "", unless: [] });
}

function leaves(way: ProxyWay, above: Pick<Outcome, "share" | "cluster" | "unless">): readonly Outcome[] {
  const { proxy, end, destinations } = way;
  const unless = [...above.unless, ...end.unless.map((hop) => `${hop} at ${proxy}`)];
  if (destinations.length === 0) return [{ ...above, proxy, end, unless, unseen: undefined }];
  return destinations.flatMap((destination) => {
    const share = Math.round(above.share * destination.share) / 100;
    const next = { share, cluster: above.cluster || destination.cluster, unless };
    if (destination.receiver !== undefined) return leaves(destination.receiver, next);
    return [{ ...next, proxy, end: destination.end, unseen: destination.unseen }];
  });
}
