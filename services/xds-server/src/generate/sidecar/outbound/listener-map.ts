/** Collects the services of each address and port into one listener, and decides what happens when they clash. */
import { isHttp, isTcp, isUnsupported, type Protocol } from "@flotilla/model";
import type { View } from "../../../snapshot/view.ts";
import { chainMatchKey, type HttpChain, type OutboundChain, type OutboundListenerPlan, type TcpChain } from "./plan.ts";

interface Entry {
  /** Of the first service; `Unsupported` once connections are distinguished by their first bytes. */
  protocol: Protocol;
  readonly bind: string;
  readonly port: number;
  readonly bindToPort: boolean;
  readonly extraAddresses: readonly string[];
  chains: readonly OutboundChain[];
  /** Belongs to an earlier egress listener, which alone decides its content. */
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
  /** Empty for HTTP. */
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
    if (addition.protocol === "UDP") return;
    const name = listenerName(addition.bind, addition.port);
    const existing = this.#entries.get(name);
    if (existing?.locked) return;
    if (existing === undefined || addition.protocol === "HTTP_PROXY") this.#entries.set(name, entryOf(addition));
    else this.#merge(name, existing, addition);
  }

  /** Later egress listeners add nothing to the listeners there are. */
  lock(): void {
    for (const entry of this.#entries.values()) entry.locked = true;
  }

  /** TCP listeners first, each group in order of addition. */
  plans(): readonly OutboundListenerPlan[] {
    const all = [...this.#entries.values()];
    const [ofTcp, others] = [all.filter(({ protocol }) => isTcp(protocol)), all.filter((one) => !isTcp(one.protocol))];
    return [...ofTcp, ...others].map(({ bind, port, bindToPort, extraAddresses, chains }) => {
      return { name: listenerName(bind, port), bind, port, bindToPort, extraAddresses, chains };
    });
  }

  /** New chains come last; of two that take the same connections the first stays. */
  #merge(name: string, entry: Entry, addition: Addition): void {
    const { protocol } = addition;
    // All HTTP services of a port share one route configuration.
    if (isHttp(protocol) && !isTcp(entry.protocol)) return;
    const speaksFirst = [entry.protocol, protocol].some(isServerFirst);
    if (speaksFirst && entry.protocol !== protocol) {
      this.#conflict(entry, addition);
      return;
    }
    // Where requests of one service were expected, the service whose protocol is found out has routes of its own.
    if (isUnsupported(protocol) && isHttp(entry.protocol)) {
      this.#entries.set(name, entryOf(addition));
      return;
    }
    // A listener that detects HTTP has its chain for it from the first service.
    const added = isUnsupported(protocol) && isUnsupported(entry.protocol) ? addition.tcp : chainsOf(addition);
    const taken = new Set(entry.chains.map(chainMatchKey));
    const fresh = added.filter((chain) => isNew(taken, chainMatchKey(chain)));
    if (fresh.length < added.length) this.#conflict(entry, addition);
    entry.chains = [...entry.chains, ...fresh];
    if (isTcp(protocol) !== isTcp(entry.protocol)) entry.protocol = "Unsupported";
  }

  #conflict(entry: Entry, { owner, protocol }: Addition): void {
    this.#view.report({
      metric: `pilot_conflict_outbound_listener_${isHttp(entry.protocol) ? "http_over_current_tcp" : "tcp_over_current_tcp"}`,
      object: owner,
      message: `listener ${listenerName(entry.bind, entry.port)} belongs to ${entry.owner}, ${protocol} of ${owner} is left out`,
    });
  }
}

export function listenerName(bind: string, port: number): string {
  return `${bind}_${port}`;
}

function entryOf(addition: Addition): Entry {
  const { bind, port, bindToPort, extraAddresses, owner } = addition;
  const protocol = detectsHttp(addition) ? "Unsupported" : addition.protocol;
  return { protocol, bind, port, bindToPort, extraAddresses, chains: chainsOf(addition), locked: false, owner };
}

/** In protocols in which servers speak first a connection shows nothing to detect: they share a port with no other protocol. */
function isServerFirst(protocol: Protocol): boolean {
  return protocol === "Mongo" || protocol === "MySQL";
}

/** A listener for any address may receive what is not HTTP, except one that the workload calls as its proxy. */
function detectsHttp({ protocol, isWildcard }: Addition): boolean {
  return isUnsupported(protocol) || (isHttp(protocol) && protocol !== "HTTP_PROXY" && isWildcard);
}

function chainsOf(addition: Addition): readonly OutboundChain[] {
  const { http, tcp, protocol } = addition;
  const httpChains: readonly OutboundChain[] =
    http === undefined || isTcp(protocol) ? [] : [{ carries: "http", ...http, sniffed: detectsHttp(addition) }];
  return [...tcp, ...httpChains];
}

function isNew(seen: Set<string>, key: string): boolean {
  if (seen.has(key)) return false;
  seen.add(key);
  return true;
}
