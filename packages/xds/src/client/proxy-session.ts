/**
 * A proxy's place on a stream: subscribes as an Envoy, a gRPC client or a ztunnel does, follows the names that it finds, and keeps what it
 * has as JSON. For comparing control planes; it sends no traffic and takes whatever comes.
 */
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import type { Node } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import type { Form } from "../plan.ts";
import { type ClientTransport, XdsClient } from "./client.ts";
import type { ClientUpdate } from "./client-state.ts";
import {
  bootstrapEndpointNames,
  clusterNames,
  endpointNames,
  extensionNames,
  hasScopedRoutes,
  routeNames,
  secretNames,
} from "./followed-names.ts";
import { nameWithin, type ReceivedResource } from "./response.ts";

export type ProxyKind = "envoy" | "grpc" | "ztunnel";

export interface ProxySessionOptions {
  readonly transport: ClientTransport;
  readonly form: Form;
  readonly node: Node;
  readonly kind: ProxyKind;
  /** Listeners that a gRPC client asks for. */
  readonly targets?: readonly string[];
}

/** Types of a proxy by their short names. */
export const shortTypes: Readonly<Record<string, string>> = {
  cds: typeUrl.cluster,
  eds: typeUrl.endpoint,
  lds: typeUrl.listener,
  rds: typeUrl.route,
  srds: typeUrl.scopedRoute,
  nds: typeUrl.nameTable,
  ecds: typeUrl.extensionConfig,
  sds: typeUrl.secret,
  wads: typeUrl.authorization,
  wds: typeUrl.address,
};

const shortNames: ReadonlyMap<string, string> = new Map(
  Object.entries(shortTypes).map(([short, type]) => [type, short]),
);

const wildcards: Readonly<Record<ProxyKind, readonly string[]>> = {
  envoy: [typeUrl.cluster, typeUrl.listener, typeUrl.nameTable],
  grpc: [],
  ztunnel: [typeUrl.address, typeUrl.authorization],
};

/** Types that a proxy waits for before it is ready: each is answered, if only with nothing. */
const awaited: Readonly<Record<ProxyKind, readonly string[]>> = {
  envoy: [typeUrl.cluster, typeUrl.listener],
  grpc: [typeUrl.listener],
  ztunnel: [typeUrl.address, typeUrl.authorization],
};

/** The form in which a proxy asks an istiod by default; a ztunnel has no other. */
export const usualForm: Readonly<Record<ProxyKind, Form>> = { envoy: "sotw", grpc: "sotw", ztunnel: "delta" };

const reconnectAfterMs = 200;

export interface SettleLimits {
  readonly answerMs: number;
  /** A control plane that sent nothing for this long has sent everything. */
  readonly quietMs: number;
}

export class ProxySession implements AsyncDisposable {
  readonly #client: XdsClient;
  readonly #kind: ProxyKind;
  readonly #ownEndpoints: readonly string[];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #held = new Map<string, Map<string, JsonObject>>();
  #received: ReceivedUpdate[] = [];
  #waiting: (() => void)[] = [];
  #asksScopes = false;
  #lastError: unknown;

  constructor({ transport, form, node, kind, targets = [] }: ProxySessionOptions) {
    this.#kind = kind;
    this.#ownEndpoints = kind === "envoy" ? bootstrapEndpointNames(node.metadata ?? {}) : [];
    this.#client = new XdsClient({
      ...{ transport, form, node },
      backoffMs: () => reconnectAfterMs,
      keepBytes: false,
      nameOf: (bytes, type) => (type === typeUrl.nameTable ? "" : nameWithin(bytes)),
      check: ({ typeUrl: type, resources }) => {
        if (kind === "grpc") this.#keepUnasked(type, resources);
        return undefined;
      },
      onUpdate: (update) => this.#receive(update),
      onConnection: (event, error) => {
        if (event === "ended") this.#lastError = error;
      },
    });
    for (const type of wildcards[kind]) this.#client.subscribe(type);
    if (targets.length > 0) this.#client.subscribe(typeUrl.listener, targets);
    this.#running = this.#client.run(this.#stop.signal);
  }

  /** Resources by short type (`cds`) and name; types that were not answered, or are not asked for any more, have no entry. */
  capture(): ReadonlyMap<string, ReadonlyMap<string, JsonObject>> {
    const isAsked = (type: string) =>
      wildcards[this.#kind].includes(type) ||
      (type === typeUrl.scopedRoute && this.#asksScopes) ||
      this.#client.state.subscribed(type).size > 0;
    return new Map(
      [...this.#held].filter(([type]) => isAsked(type)).map(([type, held]) => [shortNames.get(type) ?? type, held]),
    );
  }

  /** Updates that arrived since the last call. */
  takeReceived(): readonly ReceivedUpdate[] {
    const received = this.#received;
    this.#received = [];
    return received;
  }

  /** Why the last stream ended, if one did. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** Resolves to whether something arrived in time. */
  nextUpdate(withinMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const arrived = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((one) => one !== arrived);
        resolve(false);
      }, withinMs);
      this.#waiting.push(arrived);
    });
  }

  /**
   * Waits until everything that makes the proxy ready is answered and nothing more arrives for `quietMs`.
   * @returns the short types that are not answered within `answerMs`
   */
  async settle({ answerMs, quietMs }: SettleLimits): Promise<readonly string[]> {
    const deadline = performance.now() + answerMs;
    const missing = () => awaited[this.#kind].filter((type) => !this.#held.has(type));
    while (missing().length > 0) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return missing().map((type) => shortNames.get(type) ?? type);
      await this.nextUpdate(leftMs);
    }
    while (await this.nextUpdate(quietMs));
    return [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #receive({ typeUrl: type, changed, removed }: ClientUpdate): void {
    const held = this.#held.get(type) ?? new Map<string, JsonObject>();
    this.#held.set(type, held);
    const resources = changed.map(({ name, typeUrl: own, bytes }) => {
      // A name table has no name in state of the world, and any in delta.
      const place = type === typeUrl.nameTable ? "" : name;
      const value = bytesToJson(own, bytes) as JsonObject;
      const isSame = JSON.stringify(held.get(place)) === JSON.stringify(value);
      held.set(place, value);
      return { name: place, isSame };
    });
    for (const name of removed) held.delete(name);
    this.#received.push({ type: shortNames.get(type) ?? type, resources, removed });
    this.#follow();
    for (const arrived of this.#waiting.splice(0)) arrived();
  }

  /** istiod sends gRPC clients listeners of other ports of a host too. A client takes no notice; a comparison does. */
  #keepUnasked(type: string, resources: readonly ReceivedResource[]): void {
    const asked = this.#client.state.subscribed(type);
    const held = this.#held.get(type) ?? new Map<string, JsonObject>();
    this.#held.set(type, held);
    for (const { name, typeUrl: own, bytes } of resources)
      if (!asked.has(name)) held.set(name, bytesToJson(own, bytes) as JsonObject);
  }

  #follow(): void {
    const of = (...types: readonly string[]) => types.flatMap((type) => [...(this.#held.get(type)?.values() ?? [])]);
    const found = of(typeUrl.cluster, typeUrl.listener);
    if (this.#kind === "ztunnel") return;
    if (this.#kind === "grpc") this.#ask(typeUrl.cluster, clusterNames(of(typeUrl.listener, typeUrl.route)));
    this.#ask(typeUrl.endpoint, [...this.#ownEndpoints, ...endpointNames(of(typeUrl.cluster))]);
    this.#ask(typeUrl.route, routeNames(found));
    if (!this.#asksScopes && hasScopedRoutes(found)) {
      this.#asksScopes = true;
      this.#client.subscribe(typeUrl.scopedRoute);
    }
    this.#ask(typeUrl.extensionConfig, extensionNames(found));
    this.#ask(typeUrl.secret, secretNames(found));
  }

  #ask(type: string, names: readonly string[]): void {
    const before = this.#client.state.subscribed(type);
    const wanted = new Set(names);
    const added = names.filter((name) => !before.has(name));
    const gone = [...before].filter((name) => !wanted.has(name));
    if (gone.length > 0) {
      this.#client.unsubscribe(type, gone);
      for (const name of gone) this.#held.get(type)?.delete(name);
    }
    if (added.length > 0) this.#client.subscribe(type, added);
  }
}

export interface ReceivedUpdate {
  readonly type: string;
  /** `isSame`: the client had it already. */
  readonly resources: readonly { readonly name: string; readonly isSame: boolean }[];
  readonly removed: readonly string[];
}
