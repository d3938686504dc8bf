/** What the protocol says about types: everything not listed here is a wildcard type in no fixed order. */
import { typeUrl } from "@flotilla/proto";

export interface TypeRules {
  /** An empty first subscription means "everything" (else "nothing"). */
  readonly wildcard: boolean;
  /** State of the world: a response holds all resources, and what it leaves out is deleted. */
  readonly complete: boolean;
  /** Place on a stream when several types are due: make before break. */
  readonly order: number;
  /** Clients do not answer its messages (istiod's for MeshConfig): nothing waits for that. */
  readonly unanswered?: boolean;
  /** Resources have other names beside their own, and a name that is asked for may stand for several of them. */
  readonly aliased?: boolean;
}

const ordered = [
  typeUrl.cluster,
  typeUrl.endpoint,
  typeUrl.extensionConfig,
  typeUrl.listener,
  typeUrl.route,
  typeUrl.scopedRoute,
  typeUrl.secret,
  typeUrl.address,
  typeUrl.workload,
  typeUrl.authorization,
];

const named: ReadonlySet<string> = new Set([typeUrl.endpoint, typeUrl.route, typeUrl.secret, typeUrl.extensionConfig]);

const rules = new Map<string, TypeRules>(
  ordered.map((url, order) => [url, { wildcard: !named.has(url), complete: !named.has(url), order }]),
);
const rest: TypeRules = { wildcard: true, complete: true, order: rules.size };
rules.set(typeUrl.meshConfig, { ...rest, unanswered: true });
for (const url of [typeUrl.address, typeUrl.workload]) rules.set(url, { ...rulesOf(url), aliased: true });

export function rulesOf(url: string): TypeRules {
  return rules.get(url) ?? rest;
}
