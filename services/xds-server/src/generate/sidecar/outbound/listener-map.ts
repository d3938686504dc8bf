/** Collects the services of each address and port into one listener, and decides what happens when they clash. */
import { isHttp, isTcp, type Protocol } from "@flotilla/model";
import type { View } from "../../../snapshot/view.ts";
import { chainMatchKey, type HttpChain, type OutboundChain, type OutboundListenerPlan, type TcpChain } from "./plan.ts";

type Kind = "http" | "tcp" | "auto";

interface Entry {
  kind: Kind;
  readonly protocol: Protocol;
  readonly bind: string;
  readonly port: number;
  readonly bindToPort: boolean;
  readonly extraAddresses: readonly string[];
  chains: OutboundChain[];
  /** Belongs to an earlier egress listener, which alone says what it takes. */
  locked: boolean;
  readonly owner: string;
}

export interface Addition {
  readonly bind: string;
  readonly port: number;
  readonly bindToPort: boolean;
  readonly isWildcard: boolean;
  readonly extraAddresses: readonly string[];
  readonly protocol: Protocol;
  readonly http: Omit<HttpChain, "sniffed" | "carries"> | undefined;
  readonly tcp: readonly TcpChain[];
  /** The service added, for reports. */
  readonly owner: string;
}

export class ListenerMap {
  readonly #entries = new Map<string, Entry>();
  readonly #view: View;

  constructor(view: View) {
    this.#view = view;
  }

  add(addition: Addition): void {
    const { bind, port, protocol, bindToPort, extraAddresses, owner } = addition;
    const name = listenerName(bind, port);
    const kind: Kind = isHttp(protocol) ? "http" : isTcp(protocol) || protocol === "UDP" ? "tcp" : "auto";
    const existing = this.#entries.get(name);
    if (existing === undefined) {
      const chains = chainsOf(addition, kind);
      this.#entries.set(name, { kind, protocol, bind, port, bindToPort, extraAddresses, chains, locked: false, owner });
    } else if (!existing.locked) {
      this.#merge(existing, addition, kind);
    }
  }

  /** Later egress listeners add nothing to the listeners there are. */
  lock(): void {
    for (const entry of this.#entries.values()) entry.locked = true;
  }

  /** TCP listeners first, each group in order of addition. */
  plans(): readonly OutboundListenerPlan[] {
    const all = [...this.#entries.values()];
    const ordered = [...all.filter(({ kind }) => kind === "tcp"), ...all.filter(({ kind }) => kind !== "tcp")];
    return ordered.map(({ bind, port, bindToPort, extraAddresses, chains }) => {
      return { name: listenerName(bind, port), bind, port, bindToPort, extraAddresses, chains };
    });
  }

  /** New chains come last; of two that take the same connections the first stays. */
  #merge(entry: Entry, addition: Addition, kind: Kind): void {
    // All HTTP services of a port share one route configuration.
    if (entry.kind === "http" && kind === "http") return;
    const isMixed = entry.kind !== kind;
    const isKnown = kind !== "auto" && entry.kind !== "auto";
    const isApart =
      entry.protocol !== addition.protocol && [entry, addition].some(({ protocol }) => speaksFirst(protocol));
    if (isApart || (isMixed && isKnown && !maySniff(addition))) {
      this.#conflict(entry, addition);
      return;
    }
    // Where requests of one service were expected, the service whose protocol is found out has routes of its own.
    if (isMixed && !maySniff(addition) && entry.kind === "http") entry.chains = [];
    const taken = new Set(entry.chains.map(chainMatchKey));
    const added = chainsOf(addition, kind === "tcp" ? "tcp" : "auto");
    const fresh = added.filter((chain) => !taken.has(chainMatchKey(chain)));
    const isRefused = added.some((chain) => chain.carries === "tcp" && taken.has(chainMatchKey(chain)));
    if (isRefused) this.#conflict(entry, addition);
    if (fresh.length === 0) return;
    entry.chains = [...entry.chains.map(sniffed), ...fresh];
    if (entry.kind !== kind) entry.kind = "auto";
  }

  #conflict(entry: Entry, { owner, protocol }: Addition): void {
    this.#view.report({
      metric: `pilot_conflict_outbound_listener_${entry.kind === "http" ? "http_over_current_tcp" : "tcp_over_current_tcp"}`,
      object: owner,
      message: `listener ${listenerName(entry.bind, entry.port)} belongs to ${entry.owner}, ${protocol} of ${owner} is left out`,
    });
  }
}

/** Protocols in which servers speak first share a port with nothing else: a connection tells nothing before. */
function speaksFirst(protocol: Protocol): boolean {
  return protocol === "Mongo" || protocol === "MySQL";
}

export function listenerName(bind: string, port: number): string {
  return `${bind}_${port}`;
}

/** A listener that is handed redirected connections of any address must not take for HTTP what is none. */
function maySniff({ bindToPort, isWildcard }: Addition): boolean {
  return isWildcard && !bindToPort;
}

function chainsOf(addition: Addition, kind: Kind): OutboundChain[] {
  const { http, tcp } = addition;
  const mustSniff = kind === "auto" || (kind === "http" && maySniff(addition));
  const httpChains: OutboundChain[] =
    http === undefined || kind === "tcp" ? [] : [{ carries: "http", ...http, sniffed: mustSniff }];
  return [...(kind === "http" ? [] : tcp), ...httpChains];
}

function sniffed(chain: OutboundChain): OutboundChain {
  return chain.carries === "http" ? { ...chain, sniffed: true } : chain;
}
