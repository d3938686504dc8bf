/**
 * The Secrets of one other cluster that objects refer to; of all others only the names are kept. A connection with new credentials takes over
 * when it has listed the Secrets. While the cluster cannot be reached, the last state stays.
 */
import type { KubeApi, KubeConfig, MirrorEvent } from "@flotilla/kube-api";
import {
  type ConfigChange,
  type KubeObject,
  type LabelSelector,
  type ObjectName,
  objectName,
  objectNameOf,
} from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import type { SourceProblem } from "@flotilla/sources";
import type { ReferencedName, SecretReferences } from "../../publish/credential-uses.ts";
import { ClusterNamespaces } from "./cluster-namespaces.ts";
import { clusterSecretDelete, clusterSecretPut, namingProblem } from "./cluster-secret-change.ts";
import { PendingReads } from "./pending-reads.ts";
import { SecretConnection } from "./secret-connection.ts";
import { SecretNames } from "./secret-names.ts";

export interface ClusterSecretsOptions {
  readonly cluster: string;
  readonly references: Pick<SecretReferences, "isReferenced">;
  /** Of the API, with selectors. */
  readonly path: string;
  /** True for namespaces whose Secrets count. */
  readonly isRead: (namespace: string) => boolean;
  /** The discoverySelectors in force, which select among the cluster's own namespaces. */
  readonly selectors: () => readonly LabelSelector[];
  readonly open: (config: KubeConfig) => KubeApi;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly onChange: (change: ConfigChange) => void;
  /** Reached, lost, listed, or other objects are refused. */
  readonly onState: () => void;
  /** Our own fault. */
  readonly onFailure: (cause: unknown) => void;
}

/** Since when the cluster cannot be followed, and why. */
export interface Away {
  readonly sinceMs: number;
  readonly reason: string;
}

export class ClusterSecrets implements AsyncDisposable {
  readonly #options: ClusterSecretsOptions;
  readonly #names = new SecretNames();
  readonly #namespaces: ClusterNamespaces;
  /** Published, or about to be. */
  readonly #held = new Set<ObjectName>();
  /** Secrets with names that no object can have. */
  readonly #refused = new Map<ObjectName, SourceProblem>();
  /** Of Secrets that were passed over, for a new reference. An event that comes meanwhile is newer, or is followed by a newer one. */
  readonly #reads: PendingReads;
  readonly #working = new Set<Promise<void>>();
  #current: SecretConnection | undefined;
  #next: SecretConnection | undefined;
  #away: Away | undefined;

  constructor(options: ClusterSecretsOptions) {
    this.#options = options;
    this.#namespaces = new ClusterNamespaces({ ...options, onChange: () => this.#reconsiderAll() });
    this.#reads = new PendingReads({
      ...{ random: options.random, api: () => this.#current?.api },
      onRead: (secret) => this.#put(secret),
    });
  }

  /** The Secrets were listed at least once. */
  get isComplete(): boolean {
    return this.#current !== undefined;
  }

  /** Set while the cluster cannot be followed: its state is as old as this. */
  get away(): Away | undefined {
    return this.#away;
  }

  problems(): readonly SourceProblem[] {
    const cluster = { file: "", line: 0, object: `Cluster/${this.#options.cluster}` };
    const kept = this.isComplete ? "those read before stay in force" : "none were read yet";
    const { sinceMs = 0, reason } = this.#away ?? {};
    const since = `its Secrets cannot be read since ${new Date(sinceMs).toISOString()}, ${kept}`;
    const rejected = this.isComplete ? this.#next?.failure : undefined;
    return [
      ...(reason === undefined ? [] : [{ ...cluster, reason: `${since}: ${reason}` }]),
      ...(rejected === undefined
        ? []
        : [
            {
              ...cluster,
              reason: `its Secrets cannot be read with the new credentials, the old ones stay: ${rejected}`,
            },
          ]),
      ...this.#refused.values(),
    ];
  }

  connect(config: KubeConfig): void {
    const { open, path, random } = this.#options;
    this.#next?.end();
    this.#next = new SecretConnection({
      ...{ api: open(config), path, random, namespaces: this.#namespaces },
      onEvent: (from, event) => this.#receive(from, event),
      onState: (from) => this.#noteState(from),
    });
    this.#run(this.#next.run());
  }

  /** A reference came or went. */
  reconsider(reference: ReferencedName): void {
    for (const object of this.#names.meant(reference)) this.#reconsider(object);
  }

  /** The discoverySelectors are others now. */
  noteSelectors(): void {
    this.#namespaces.noteSelectors();
    this.#noteAway();
  }

  /** Takes back what is in force. */
  clear(): void {
    for (const object of [...this.#held]) this.#remove(object);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#current?.end();
    this.#next?.end();
    this.#reads.endAll();
    await Promise.all(this.#working);
  }

  #receive(connection: SecretConnection, event: MirrorEvent<KubeObject>): void {
    if (event.type === "list") {
      const isFirst = connection === this.#next;
      if (isFirst) this.#takeOver(connection);
      this.#replace(event.objects);
      if (isFirst) this.#noteAway();
    } else if (connection === this.#current) {
      const object = objectNameOf(event.object);
      this.#noteRefusal(event.object, event.type === "put");
      const isThere = event.type === "put" && !this.#refused.has(object);
      this.#names.note(object, isThere);
      if (isThere && this.#isReferenced(object)) this.#put(event.object);
      else this.#remove(object);
    }
  }

  #takeOver(connection: SecretConnection): void {
    this.#current?.end();
    this.#current = connection;
    this.#next = undefined;
  }

  #replace(objects: readonly KubeObject[]): void {
    this.#refused.clear();
    for (const secret of objects) this.#noteRefusal(secret, true);
    const named = objects.filter((secret) => !this.#refused.has(objectNameOf(secret)));
    const referenced = named.filter((secret) => this.#isReferenced(objectNameOf(secret)));
    const names = new Set(referenced.map(objectNameOf));
    this.#names.replace(named.map(objectNameOf));
    for (const object of [...this.#held]) if (!names.has(object)) this.#remove(object);
    for (const secret of referenced) this.#put(secret);
    this.#options.onState();
  }

  #noteRefusal(secret: KubeObject, exists: boolean): void {
    const object = objectNameOf(secret);
    const reason = exists ? namingProblem(secret) : undefined;
    if (reason === undefined && !this.#refused.delete(object)) return;
    if (reason !== undefined)
      this.#refused.set(object, { file: "", line: 0, object: `Cluster/${this.#options.cluster}`, reason });
    this.#options.onState();
  }

  #reconsiderAll(): void {
    for (const object of this.#names.all()) this.#reconsider(object);
  }

  #reconsider(object: ObjectName): void {
    if (!this.#isReferenced(object)) this.#remove(object);
    else if (!this.#held.has(object) && !this.#reads.has(object)) this.#run(this.#reads.read(object));
  }

  #put(read: KubeObject): void {
    const { cluster, onChange } = this.#options;
    // Items of a list may lack their kind.
    const secret: KubeObject = { ...read, apiVersion: "v1", kind: "Secret" };
    const object = objectNameOf(secret);
    this.#reads.end(object);
    this.#held.add(object);
    onChange(clusterSecretPut(secret, cluster));
  }

  #remove(object: ObjectName): void {
    const { cluster, onChange } = this.#options;
    this.#reads.end(object);
    if (this.#held.delete(object)) onChange(clusterSecretDelete(objectName.read(object), cluster));
  }

  #isReferenced(object: ObjectName): boolean {
    const { namespace, name } = objectName.read(object);
    const { references, isRead } = this.#options;
    return isRead(namespace) && references.isReferenced(namespace, name) && this.#namespaces.has(namespace);
  }

  #noteState(connection: SecretConnection): void {
    this.#noteAway();
    if (connection === this.#next && this.isComplete) this.#options.onState();
  }

  /** The connection in force counts; before there is one, the one that is being made. */
  #noteAway(): void {
    const reason = (this.#current ?? this.#next)?.failure;
    if (reason === this.#away?.reason) return;
    const { cluster, log, nowMs, onState } = this.#options;
    if (this.#away === undefined)
      log.warn("secrets of the cluster cannot be read, those read before stay in force", { cluster, reason });
    if (reason === undefined) log.info("secrets of the cluster can be read again", { cluster });
    this.#away = reason === undefined ? undefined : { sinceMs: this.#away?.sinceMs ?? nowMs(), reason };
    onState();
  }

  #run(work: Promise<void>): void {
    const done: Promise<void> = work.catch(this.#options.onFailure).finally(() => this.#working.delete(done));
    this.#working.add(done);
  }
}
