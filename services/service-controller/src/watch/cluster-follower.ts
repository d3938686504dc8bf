/**
 * The objects of one cluster that services and endpoints are made of. A connection with new credentials is built beside the old
 * one and takes over when it has everything: nothing that still exists goes away in between. What is known stays while the
 * cluster cannot be reached.
 */
import { type KubeApi, type KubeConfig, listAll, mirror, openKubeApi } from "@flotilla/kube-api";
import type { KubeObject } from "@flotilla/model";
import { checkKubeObject, type ObjectChange } from "@flotilla/registry";
import type { SourceProblem } from "@flotilla/sources";

export interface ClusterFollowerOptions {
  readonly cluster: string;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly onChange: (change: ObjectChange) => void;
  /** Reached, lost, complete for the first time, or something else is wrong. */
  readonly onState: () => void;
  /** Our own fault: the source cannot go on. */
  readonly onFailure: (cause: unknown) => void;
}

const paths: Readonly<Record<string, string>> = {
  Service: "/api/v1/services",
  EndpointSlice: "/apis/discovery.k8s.io/v1/endpointslices",
  Pod: "/api/v1/pods",
  Node: "/api/v1/nodes",
  Namespace: "/api/v1/namespaces",
};
const kinds = Object.keys(paths);

interface Connection {
  readonly api: KubeApi;
  readonly stop: AbortController;
  /** Lists that came before the connection has taken over. */
  readonly lists: Map<string, readonly KubeObject[]>;
  readonly failures: Map<string, string>;
  done: Promise<void>;
}

export class ClusterFollower implements AsyncDisposable {
  readonly #options: ClusterFollowerOptions;
  /** By kind: `namespace/name` → resourceVersion. */
  readonly #held = new Map<string, Map<string, string>>(kinds.map((kind) => [kind, new Map()]));
  readonly #refused = new Map<string, SourceProblem>();
  #current: Connection | undefined;
  /** Not complete yet. */
  #next: Connection | undefined;
  #ending: Promise<void>[] = [];
  #away: { readonly sinceMs: number; readonly reason: string } | undefined;

  constructor(options: ClusterFollowerOptions) {
    this.#options = options;
  }

  get cluster(): string {
    return this.#options.cluster;
  }

  /** Everything was read at least once. */
  get isComplete(): boolean {
    return this.#current !== undefined;
  }

  /** Set while something of the cluster cannot be followed: what is known is as old as this. */
  get away(): { readonly sinceMs: number; readonly reason: string } | undefined {
    return this.#away;
  }

  problems(): readonly SourceProblem[] {
    const object = `Cluster/${this.#options.cluster}`;
    const [rejected] = this.#current === undefined ? [] : (this.#next?.failures.values() ?? []);
    const reason = `new credentials do not work, the old ones stay in use: ${rejected}`;
    return [
      ...this.#awayProblem(object),
      ...(rejected === undefined ? [] : [{ file: "", line: 0, object, reason }]),
      ...this.#refused.values(),
    ];
  }

  #awayProblem(object: string): readonly SourceProblem[] {
    const away = this.#away;
    if (away === undefined) return [];
    const since = new Date(away.sinceMs).toISOString();
    const kept = this.isComplete ? "what was known is kept" : "it was never read in full";
    const reason = `away since ${since}, ${kept}: ${away.reason}`;
    return [{ file: "", line: 0, object, reason }];
  }

  /** Follows the cluster through these credentials from the moment at which everything could be read with them. */
  connect(config: KubeConfig): void {
    if (this.#next !== undefined) this.#end(this.#next);
    const api = openKubeApi(config);
    const stop = new AbortController();
    const connection: Connection = { api, stop, lists: new Map(), failures: new Map(), done: Promise.resolve() };
    this.#next = connection;
    connection.done = Promise.all(kinds.map((kind) => this.#follow(connection, kind))).then(
      () => undefined,
      this.#options.onFailure,
    );
  }

  /** Everything afresh. @throws KubeError */
  async list(): Promise<readonly ObjectChange[]> {
    const connection = this.#current;
    if (connection === undefined) return [];
    const lists = await Promise.all(kinds.map((kind) => listAll<KubeObject>(connection.api, paths[kind] ?? "")));
    const { cluster } = this.#options;
    return lists
      .flatMap(({ objects }) => objects)
      .filter((object) => checkKubeObject(object).length === 0)
      .map((object) => ({ type: "object", op: "put", object: lean(object), cluster }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of [this.#current, this.#next]) if (connection !== undefined) this.#end(connection);
    this.#current = this.#next = undefined;
    await Promise.all(this.#ending);
  }

  async #follow(connection: Connection, kind: string): Promise<void> {
    const { random } = this.#options;
    const path = paths[kind] ?? "";
    const onState = (failure: string | undefined) => this.#noteState(connection, kind, failure);
    for await (const event of mirror<KubeObject>(connection.api, { path, random, onState }, connection.stop.signal)) {
      if (event.type === "list") this.#applyList(connection, kind, event.objects);
      else if (connection !== this.#current) this.#patchList(connection, kind, event.type, event.object);
      else if (event.type === "put") this.#put(kind, { ...event.object, kind });
      else this.#delete(kind, nameOf(event.object));
    }
  }

  #applyList(connection: Connection, kind: string, objects: readonly KubeObject[]): void {
    if (connection === this.#current) {
      this.#replace(kind, objects);
      return;
    }
    connection.lists.set(kind, objects);
    if (connection.lists.size === kinds.length) this.#takeOver(connection);
  }

  /** A change of a kind that is listed, while others are not. */
  #patchList(connection: Connection, kind: string, type: "put" | "delete", object: KubeObject): void {
    const name = nameOf(object);
    const others = (connection.lists.get(kind) ?? []).filter((one) => nameOf(one) !== name);
    connection.lists.set(kind, type === "put" ? [...others, object] : others);
  }

  #takeOver(connection: Connection): void {
    const old = this.#current;
    this.#current = connection;
    this.#next = undefined;
    if (old !== undefined) this.#end(old);
    for (const [kind, objects] of connection.lists) this.#replace(kind, objects);
    connection.lists.clear();
    this.#noteAway();
    this.#options.onState();
  }

  #replace(kind: string, objects: readonly KubeObject[]): void {
    const names = new Set(objects.map(nameOf));
    for (const name of [...(this.#held.get(kind)?.keys() ?? [])]) if (!names.has(name)) this.#delete(kind, name);
    for (const object of objects) this.#put(kind, object);
  }

  #put(kind: string, object: KubeObject): void {
    const name = nameOf(object);
    const { cluster, onChange, onState } = this.#options;
    const version = object.metadata.resourceVersion ?? "";
    const held = this.#held.get(kind);
    if (version !== "" && held?.get(name) === version) return;
    const [finding] = checkKubeObject(object);
    if (finding !== undefined) {
      this.#refused.set(`${kind}/${name}`, { file: "", line: 0, object: `${cluster}: ${kind}/${name}`, ...finding });
      onState();
      return;
    }
    this.#refused.delete(`${kind}/${name}`);
    held?.set(name, version);
    onChange({ type: "object", op: "put", object: lean(object), cluster });
  }

  #delete(kind: string, text: string): void {
    this.#refused.delete(`${kind}/${text}`);
    if (this.#held.get(kind)?.delete(text) !== true) return;
    const [namespace = "", name = ""] = text.split("/");
    this.#options.onChange({ type: "object", op: "delete", key: { kind, namespace, name }, cluster: this.cluster });
  }

  #noteState(connection: Connection, kind: string, failure: string | undefined): void {
    if (failure === undefined) connection.failures.delete(kind);
    else connection.failures.set(kind, failure);
    this.#noteAway();
    if (connection === this.#next && failure !== undefined) this.#options.onState();
  }

  /** The connection in force counts; before there is one, the one that is being built. */
  #noteAway(): void {
    const [reason] = (this.#current ?? this.#next)?.failures.values() ?? [];
    if (reason === this.#away?.reason) return;
    const sinceMs = this.#away?.sinceMs ?? this.#options.nowMs();
    this.#away = reason === undefined ? undefined : { sinceMs, reason };
    this.#options.onState();
  }

  #end({ stop, api, done }: Connection): void {
    stop.abort();
    const ended = done.finally(() => {
      api[Symbol.dispose]();
      this.#ending = this.#ending.filter((one) => one !== ended);
    });
    this.#ending.push(ended);
  }
}

function nameOf({ metadata: { namespace = "", name } }: KubeObject): string {
  return `${namespace}/${name}`;
}

/** Who wrote which field takes as much room as the object, and nobody asks for it here. */
function lean(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata as KubeObject["metadata"] & {
    readonly managedFields?: unknown;
  };
  return { ...object, metadata };
}
