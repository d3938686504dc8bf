/**
 * The objects of one cluster that services and endpoints are made of. A connection with new credentials is built beside the old one and
 * takes over when it has all that the old one had: nothing that still exists goes away in between, nothing goes back. The objects held stay
 * while the cluster cannot be reached.
 */
import { type KubeApi, type KubeConfig, openKubeApi } from "@flotilla/kube-api";
import type { ObjectChange } from "@flotilla/registry";
import type { SourceProblem } from "@flotilla/sources";
import { ClusterConnection, type ClusterEvent, type FollowedKind, type Positions } from "./cluster-connection.ts";
import { ClusterObjects, type ClusterObjectsOptions, listObjects } from "./cluster-objects.ts";
import { type Away, awayText } from "./cluster-status.ts";

export interface ClusterFollowerOptions {
  readonly cluster: string;
  readonly kinds: readonly FollowedKind[];
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly open?: (config: KubeConfig) => KubeApi;
  readonly onChange: (change: ObjectChange) => void;
  readonly onEvent?: ClusterObjectsOptions["onEvent"];
  /** Reached, lost, complete for the first time, or something else is wrong. */
  readonly onState: () => void;
  /** It cannot be followed, for another reason than before. */
  readonly onSyncError?: ((cluster: string) => void) | undefined;
  /** Our own fault: the source cannot go on. */
  readonly onFailure: (cause: unknown) => void;
}

/** A cluster that was made anew counts its versions anew: who is behind for longer than this is not waited for. */
const catchUpMs = 5_000;

export class ClusterFollower implements AsyncDisposable {
  readonly #options: ClusterFollowerOptions;
  readonly #objects: ClusterObjects;
  readonly #ending = new Set<Promise<void>>();
  #current: ClusterConnection | undefined;
  /** Those that could take over, the oldest first: two at most, so that one gets ready however often others come. */
  #next: readonly ClusterConnection[] = [];
  #catchingUp: NodeJS.Timeout | undefined;
  #away: Away | undefined;

  constructor(options: ClusterFollowerOptions) {
    this.#options = options;
    this.#objects = new ClusterObjects(options);
  }

  get cluster(): string {
    return this.#options.cluster;
  }

  /** Everything was read at least once. */
  get isComplete(): boolean {
    return this.#current !== undefined;
  }

  /** Set while something of the cluster cannot be followed: its state is as old as this. */
  get away(): Away | undefined {
    return this.#away;
  }

  problems(): readonly SourceProblem[] {
    const object = `Cluster/${this.#options.cluster}`;
    const [rejected] = this.#current === undefined ? [] : (this.#next.at(-1)?.failures.values() ?? []);
    const reason = `new credentials do not work, the old ones stay in use: ${rejected}`;
    return [
      ...this.#awayProblem(object),
      ...(rejected === undefined ? [] : [{ file: "", line: 0, object, reason }]),
      ...Array.from(this.#current?.refusals.values() ?? [], (refusal) => ({
        ...{ file: "", line: 0, object },
        reason: refusal,
      })),
      ...this.#objects.problems(),
    ];
  }

  #awayProblem(object: string): readonly SourceProblem[] {
    const away = this.#away;
    if (away === undefined) return [];
    return [{ file: "", line: 0, object, reason: awayText(away, this.isComplete) }];
  }

  /** Follows the cluster through these credentials from the moment at which everything could be read with them. */
  connect(config: KubeConfig): void {
    const { open = openKubeApi, kinds, random, onFailure } = this.#options;
    const [oldest, ...others] = this.#next;
    for (const other of others) this.#end(other);
    if (oldest !== undefined && oldest.failures.size > 0) this.#end(oldest);
    const connection = new ClusterConnection({
      api: open(config),
      kinds,
      random,
      onFailure,
      onEvent: (from, event) => this.#receive(from, event),
      onState: (from) => this.#noteState(from),
    });
    this.#next = [...this.#next, connection];
  }

  /** Of the connection in force; undefined before there is one. */
  get api(): KubeApi | undefined {
    return this.#current?.api;
  }

  /** Everything afresh. @throws KubeError */
  async list(): Promise<readonly ObjectChange[]> {
    const api = this.#current?.api;
    return api === undefined ? [] : listObjects(api, this.#options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#catchingUp);
    for (const connection of [this.#current, ...this.#next]) if (connection !== undefined) this.#end(connection);
    this.#current = undefined;
    await Promise.all(this.#ending);
  }

  #receive(connection: ClusterConnection, event: ClusterEvent): void {
    if (connection === this.#current) {
      this.#objects.record(event);
    } else if (this.#next.includes(connection)) {
      connection.keep(event);
      if (connection.isComplete) this.#offer(connection);
    }
  }

  /** Takes over at once, or when it has all that the old one had. */
  #offer(connection: ClusterConnection): void {
    const known: Positions = this.#current?.positions ?? new Map();
    if (connection.hasReached(known)) this.#takeOver(connection);
    else if (this.#catchingUp === undefined)
      this.#catchingUp = setTimeout(() => {
        this.#catchingUp = undefined;
        // A connection that is cut off may hold an older state. It takes over only after it reads again.
        const ready = this.#next.findLast(({ isComplete, failures }) => isComplete && failures.size === 0);
        if (ready !== undefined) this.#takeOver(ready);
      }, catchUpMs);
  }

  #takeOver(connection: ClusterConnection): void {
    clearTimeout(this.#catchingUp);
    this.#catchingUp = undefined;
    const older = this.#next.slice(0, this.#next.indexOf(connection));
    for (const one of [this.#current, ...older]) if (one !== undefined) this.#end(one);
    this.#next = this.#next.filter((one) => one !== connection);
    this.#current = connection;
    for (const event of connection.release()) this.#objects.record(event);
    this.#noteAway();
    this.#options.onState();
  }

  #noteState(connection: ClusterConnection): void {
    this.#noteAway();
    if (this.#next.includes(connection) && connection.failures.size > 0) this.#options.onState();
  }

  /** The connection in force counts; before there is one, the newest that is being built. */
  #noteAway(): void {
    const [reason] = (this.#current ?? this.#next.at(-1))?.failures.values() ?? [];
    if (reason === this.#away?.reason) return;
    const sinceMs = this.#away?.sinceMs ?? this.#options.nowMs();
    this.#away = reason === undefined ? undefined : { sinceMs, reason };
    if (reason !== undefined) this.#options.onSyncError?.(this.cluster);
    this.#options.onState();
  }

  #end(connection: ClusterConnection): void {
    this.#next = this.#next.filter((one) => one !== connection);
    const ended: Promise<void> = connection.end().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}
