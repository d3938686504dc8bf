/** Follows one list of objects, and tracks whether the objects held are all there are. */

import type { Kind } from "@flotilla/kinds";
import { type KubeApi, KubeError, type MirrorEvent, mirror } from "@flotilla/kube-api";
import { type ConfigChange, type ConfigKey, type KubeObject, type ObjectName, objectNameOf } from "@flotilla/model";
import { TimeSlice } from "@flotilla/runtime";
import { KindTable, type KindTableOptions } from "./kind-table.ts";
import type { ServedKind } from "./served-kinds.ts";

interface KindFollowerOptions extends KindTableOptions {
  readonly api: KubeApi;
  readonly random: () => number;
  readonly nowMs: () => number;
  /** The objects in force changed; `changes` may be empty. */
  readonly onChange: (changes: readonly ConfigChange[]) => void;
  /** Called with each object as the API server has it, its status included; undefined: it is gone. */
  readonly onStored?: (key: ConfigKey, object: KubeObject | undefined) => void;
  /** Its definition is being deleted, and with it every object; following has ended. */
  readonly onGoing: () => void;
  /** It cannot be read, or undefined: it can. */
  readonly onState: (reason: string | undefined) => void;
}

/** A kind that the API server answers for, but not with objects, is waited for no longer than this. */
const patienceMs = 5_000;

export class KindFollower {
  readonly #options: KindFollowerOptions;
  readonly #table: KindTable;
  readonly #definition: Definition;
  /** Names of objects that went with their kind, and did not come back with it yet. */
  readonly #spared = new Set<ObjectName>();
  #isListed = false;
  #isTaking = false;
  #refusedSinceMs: number | undefined;
  #isForbidden = false;
  #end: AbortController | undefined;
  #served: ServedKind | undefined;
  #vanishedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: KindFollowerOptions) {
    this.#options = options;
    this.#table = new KindTable(options);
    this.#definition = new Definition(options.api, options.nowMs);
  }

  /** Its objects have been read once; false: those in the stream may still be valid. */
  get isListed(): boolean {
    return this.#isListed;
  }

  /** A list is being taken in, and its changes belong together. */
  get isTaking(): boolean {
    return this.#isTaking;
  }

  /** It is not waited for: it is listed, or the API server refuses to list it. */
  get isSettled(): boolean {
    const { nowMs } = this.#options;
    const isRefused = this.#refusedSinceMs !== undefined && nowMs() - this.#refusedSinceMs >= patienceMs;
    return this.#isListed || this.#isForbidden || isRefused || !this.isFollowing;
  }

  /** Objects that are in force although the kind, or only they, are not there any more. */
  get spared(): number {
    return this.#spared.size;
  }

  get isFollowing(): boolean {
    return this.#end !== undefined;
  }

  /** When it was last followed. */
  get vanishedAtMs(): number {
    return this.#vanishedAtMs;
  }

  get kind(): string | undefined {
    return this.#served?.kind.name;
  }

  get table(): Pick<KindTable, "problems" | "size"> {
    return this.#table;
  }

  /** Runs until `stop` fires or the kind vanishes. */
  async run(served: ServedKind, stop: AbortSignal): Promise<void> {
    const end = new AbortController();
    this.#end = end;
    this.#served = served;
    const until = AbortSignal.any([stop, end.signal]);
    const { api, random, onChange, onGoing } = this.#options;
    const { kind, path } = served;
    const onState = (reason: string | undefined, status?: number) => {
      if (!until.aborted) this.#note(reason, status);
    };
    for await (const event of mirror<KubeObject>(api, { path, random, onState }, until)) {
      if (until.aborted) return;
      // Items of a list may lack their kind.
      const named = (object: KubeObject): KubeObject => ({ ...object, kind: kind.kind });
      this.#noteStored(kind.name, event);
      if (event.type === "delete") {
        if (await this.#definition.isGoing(kind)) return onGoing();
        onChange(this.#table.delete(event.object));
      } else if (event.type === "put") {
        this.#spared.delete(objectNameOf(event.object));
        if (this.#table.isInForce(event.object)) continue;
        const object = named(event.object);
        await this.#table.prepare(object);
        if (until.aborted) return;
        onChange(this.#table.put(object));
      } else await this.#onList(event.objects.map(named), until);
    }
  }

  #noteStored(kind: string, event: MirrorEvent<KubeObject>): void {
    const { onStored } = this.#options;
    if (onStored === undefined) return;
    for (const object of event.type === "list" ? event.objects : [event.object]) {
      const { namespace = "", name = "" } = object.metadata;
      onStored({ kind, namespace, name }, event.type === "delete" ? undefined : object);
    }
  }

  async #onList(objects: readonly KubeObject[], until: AbortSignal): Promise<void> {
    const { onChange } = this.#options;
    const timeSlice = new TimeSlice();
    for (const object of objects) this.#spared.delete(objectNameOf(object));
    this.#isTaking = true;
    try {
      for (const object of objects) {
        await this.#table.prepare(object);
        if (timeSlice.isDue) await timeSlice.yield();
        if (until.aborted) return;
      }
      for (const changes of this.#table.replace(objects, this.#spared)) {
        onChange(changes);
        if (timeSlice.isDue) await timeSlice.yield();
        if (until.aborted) return;
      }
      this.#isListed = true;
    } finally {
      this.#isTaking = false;
      onChange([]);
    }
  }

  /** The kind is served no more: its objects stay for a while, also when it comes back without them. */
  vanish(): void {
    if (this.#spared.size === 0) this.#vanishedAtMs = this.#options.nowMs();
    for (const name of this.#table.names) this.#spared.add(name);
    this.#end?.abort();
    this.#end = undefined;
  }

  /** The while is over: what did not come back is gone. */
  endSparing(): void {
    const gone = [...this.#spared];
    this.#spared.clear();
    this.#options.onChange(gone.flatMap((name) => this.#table.remove(name)));
  }

  /** After tags have changed. */
  reconsider(): void {
    this.#options.onChange(this.#table.reconsider());
  }

  #note(reason: string | undefined, status: number | undefined): void {
    this.#isForbidden = status !== undefined && status >= 400 && status < 500 && status !== 410 && status !== 429;
    if (status === undefined) this.#refusedSinceMs = undefined;
    else this.#refusedSinceMs ??= this.#options.nowMs();
    this.#options.onState(reason);
  }
}

/** Kubernetes' own, which have none. */
const builtIn: ReadonlySet<string> = new Set(["", "networking.k8s.io"]);
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/** An answer holds for this long: the API server takes longer to begin with the objects. */
const holdsMs = 20;

/** The CustomResourceDefinition of a kind: when it is deleted, the API server first deletes every object of the kind. */
class Definition {
  readonly #api: KubeApi;
  readonly #nowMs: () => number;
  #staysUntilMs = Number.NEGATIVE_INFINITY;

  constructor(api: KubeApi, nowMs: () => number) {
    this.#api = api;
    this.#nowMs = nowMs;
  }

  /** True: the deletion is part of a removal of the kind. False too where that cannot be determined. */
  async isGoing({ plural, group }: Kind): Promise<boolean> {
    if (builtIn.has(group) || this.#nowMs() < this.#staysUntilMs) return false;
    try {
      const definition = await this.#api.metadata(`${definitions}/${plural}.${group}`);
      if (definition === undefined || definition.metadata.deletionTimestamp !== undefined) return true;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
    }
    this.#staysUntilMs = this.#nowMs() + holdsMs;
    return false;
  }
}
