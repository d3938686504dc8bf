/**
 * Services of Consul: several datacenters, each followed by itself. A datacenter that is away keeps what was known of it; one
 * that was never read within the limit does not hold up the others, and its published services stay in force.
 */
import { CatalogFollower, type CatalogScope, ConsulClient, readCatalog, Slots } from "@flotilla/consul";
import { type ConsulServiceKey, consulKeyText } from "@flotilla/registry";
import type { Logger } from "@flotilla/runtime";
import type { SourceProblem } from "@flotilla/sources";
import { awayText } from "./cluster-status.ts";
import { ConsulScopes, type ConsulScopesOptions, scopeText } from "./consul-scopes.ts";
import { GatheredGroups } from "./gathered-groups.ts";
import type { InputGroup, InputSource, ShardListing } from "./input-source.ts";

export interface ConsulSourceOptions extends Omit<ConsulScopesOptions, "client" | "onState"> {
  readonly url: string;
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly certificateAuthorities: string | undefined;
  readonly connections: number;
  /** The first group does not wait longer. */
  readonly syncTimeoutMs: number;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly onProblems: () => void;
}

export function consulSource(options: ConsulSourceOptions): InputSource {
  return new ConsulSource(options);
}

const readsAtOnce = 8;

class ConsulSource implements InputSource {
  readonly name = "consul";
  readonly #options: ConsulSourceOptions;
  readonly #client: ConsulClient;
  readonly #slots: Slots;
  /** Separate: fresh reads do not wait for blocking queries. */
  readonly #readers = new Slots(readsAtOnce);
  readonly #gathered: GatheredGroups;
  readonly #scopes: ConsulScopes;
  #followers: readonly CatalogFollower[] = [];
  /** By scope: what ends its follower, and the services that it reported. */
  readonly #following = new Map<
    string,
    { readonly stop: AbortController; readonly reported: Map<string, ConsulServiceKey> }
  >();
  /** The datacenters are known. */
  #isListed = false;

  constructor(options: ConsulSourceOptions) {
    this.#options = options;
    const { url, token, tokenFile, certificateAuthorities, connections } = options;
    this.#client = new ConsulClient({ url, token, tokenFile, certificateAuthorities });
    this.#slots = new Slots(connections);
    this.#scopes = new ConsulScopes({ ...options, client: this.#client, onState: options.onProblems });
    const { syncTimeoutMs, nowMs, log } = options;
    this.#gathered = new GatheredGroups({
      syncTimeoutMs,
      nowMs,
      follow: (stop) => this.#follow(stop),
      unread: () => this.#unread(),
      onLate: (unread) =>
        log.warn("consul not read in time, its last published state stays", { unread: unread.join(", ") }),
    });
  }

  groups(stop: AbortSignal): AsyncIterable<InputGroup> {
    return this.#gathered.groups(stop);
  }

  async list(stop: AbortSignal): Promise<readonly ShardListing[]> {
    const byDatacenter = Map.groupBy(this.#followers, ({ scope }) => scope.datacenter);
    const readable = [...byDatacenter].filter(([, followers]) =>
      followers.every(({ away, isComplete }) => away === undefined && isComplete),
    );
    return Promise.all(
      readable.map(async ([datacenter, followers]) => {
        const read = ({ scope }: CatalogFollower) => readCatalog(this.#client, scope, this.#readers, stop);
        const inputs = (await Promise.all(followers.map(read)))
          .flat()
          .flatMap(({ key, instances }) =>
            instances.length === 0 ? [] : [{ type: "consul", op: "put", key, instances } as const],
          );
        return { shard: `Consul/${datacenter}`, inputs };
      }),
    );
  }

  problems(): readonly SourceProblem[] {
    const unlisted = this.#scopes.problem;
    return [
      ...(unlisted === undefined ? [] : [{ file: this.#options.url, line: 0, reason: unlisted }]),
      ...this.#followers.flatMap((follower) => [
        ...this.#awayProblem(follower),
        ...follower.problems().map(({ object, id, field, reason }) => ({
          file: this.#options.url,
          line: 0,
          object: `${object}/${id}`,
          field,
          reason,
        })),
      ]),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client[Symbol.dispose]();
  }

  #awayProblem({ away, scope, isComplete }: CatalogFollower): readonly SourceProblem[] {
    if (away === undefined) return [];
    const object = `Consul/${scopeText(scope)}`;
    return [{ file: this.#options.url, line: 0, object, reason: awayText(away, isComplete) }];
  }

  async #follow(stop: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const all = AbortSignal.any([stop, failed.signal]);
    const running = new Set<Promise<void>>();
    let failure: { readonly cause: unknown } | undefined;
    for await (const scopes of this.#scopes.lists(all)) {
      for (const done of this.#followScopes(scopes, all)) {
        const ended = done.catch((cause: unknown) => {
          failure ??= { cause };
          failed.abort(cause);
        });
        running.add(ended);
        void ended.then(() => running.delete(ended));
      }
      this.#isListed = true;
      this.#gathered.wake();
    }
    await Promise.all(running);
    if (failure !== undefined && !stop.aborted) throw failure.cause;
  }

  /** Begins with those that are new, and ends those that the list no longer has. */
  #followScopes(scopes: readonly CatalogScope[], stop: AbortSignal): readonly Promise<void>[] {
    if (stop.aborted) return [];
    const wanted = new Set(scopes.map(scopeText));
    for (const [text, { stop: own, reported }] of this.#following) {
      if (wanted.has(text)) continue;
      this.#options.log.info("datacenter removed", { scope: text });
      own.abort();
      this.#following.delete(text);
      this.#followers = this.#followers.filter(({ scope }) => scopeText(scope) !== text);
      for (const key of reported.values()) this.#gathered.emit({ type: "consul", op: "delete", key });
    }
    const added = scopes.filter((scope) => !this.#following.has(scopeText(scope)));
    return added.map((scope) => {
      const own = new AbortController();
      const reported = new Map<string, ConsulServiceKey>();
      this.#following.set(scopeText(scope), { stop: own, reported });
      const follower = this.#follower(scope, reported, own.signal);
      this.#followers = [...this.#followers, follower];
      return follower.run(AbortSignal.any([stop, own.signal]));
    });
  }

  #follower(scope: CatalogScope, reported: Map<string, ConsulServiceKey>, own: AbortSignal): CatalogFollower {
    const { log, nowMs, random, onProblems } = this.#options;
    let wasAway = false;
    const onState = () => {
      const isAway = follower.away !== undefined;
      if (isAway && !wasAway)
        log.warn("consul unreachable, its last state stays in force", {
          scope: scopeText(scope),
          reason: follower.away?.reason,
        });
      if (!isAway && wasAway) log.info("consul reachable again", { scope: scopeText(scope) });
      wasAway = isAway;
      onProblems();
      this.#gathered.wake();
    };
    const follower: CatalogFollower = new CatalogFollower({
      client: this.#client,
      scope,
      slots: this.#slots,
      nowMs,
      random,
      onEvent: ({ key, instances }) => {
        if (own.aborted) return;
        if (instances.length === 0) reported.delete(consulKeyText(key));
        else reported.set(consulKeyText(key), key);
        this.#gathered.emit(
          instances.length === 0
            ? { type: "consul", op: "delete", key }
            : { type: "consul", op: "put", key, instances },
        );
      },
      onState,
    });
    return follower;
  }

  /** Shards of datacenters that have not been read in full yet; without a list of datacenters, all of them. */
  #unread(): readonly string[] {
    if (!this.#isListed) return ["Consul/*"];
    const unread = this.#followers.filter(({ isComplete }) => !isComplete);
    return [...new Set(unread.map(({ scope }) => `Consul/${scope.datacenter}`))];
  }
}
