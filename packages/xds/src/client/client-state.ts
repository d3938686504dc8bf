/**
 * A client's side of the protocol, in both forms, without a transport: subscriptions and responses go in, requests come out. Its resources
 * survive the stream, and are shown to the next one.
 */
import type { Form } from "../plan.ts";
import type { ClientRequest, RequestError } from "../request.ts";
import { rulesOf } from "../resource-set.ts";
import type { ClientResponse, ReceivedResource } from "./response.ts";

export interface ClientUpdate {
  readonly typeUrl: string;
  readonly version: string;
  readonly changed: readonly ReceivedResource[];
  readonly removed: readonly string[];
}

export interface ClientOptions {
  readonly form: Form;
  /** A reason refuses the whole message; without one everything is accepted. */
  readonly check?: (response: ClientResponse) => string | undefined;
  /** Names that are not taken, and why: the others are, the held versions of these stay, and the answer is a refusal that names them. */
  readonly refusals?: (response: ClientResponse) => ReadonlyMap<string, string>;
  readonly onUpdate?: (update: ClientUpdate) => void;
  readonly onRefused?: (response: ClientResponse, reason: string) => void;
  /** False forgets the bytes: for simulated proxies, which only need names and versions. */
  readonly keepBytes?: boolean;
}

interface TypeView {
  wildcard: boolean;
  readonly names: Set<string>;
  readonly held: Map<string, ReceivedResource>;
  version: string;
  nonce: string;
  /** State of the world: names were given up since the stream began, so that the version is one of more than what is held. */
  hasGivenUp: boolean;
}

const noBytes = new Uint8Array();
const noRefusals: ReadonlyMap<string, string> = new Map();

export class ClientState {
  readonly form: Form;
  readonly #options: ClientOptions;
  readonly #types = new Map<string, TypeView>();

  constructor(options: ClientOptions) {
    this.form = options.form;
    this.#options = options;
  }

  /** The client's resources of a type, by name. */
  held(typeUrl: string): ReadonlyMap<string, ReceivedResource> {
    return this.#types.get(typeUrl)?.held ?? new Map();
  }

  subscribed(typeUrl: string): ReadonlySet<string> {
    return this.#types.get(typeUrl)?.names ?? new Set();
  }

  /** `names` undefined subscribes to everything. */
  subscribe(typeUrl: string, names?: readonly string[]): ClientRequest {
    const isFirst = !this.#types.has(typeUrl);
    const view = this.#view(typeUrl);
    if (names === undefined) view.wildcard = true;
    for (const name of names ?? []) view.names.add(name);
    if (this.form === "sotw") return this.#sotw(typeUrl, view, view.nonce);
    if (isFirst) return this.#firstDelta(typeUrl, view);
    return { typeUrl, nonce: "", error: undefined, subscribe: names ?? ["*"], unsubscribe: [], held: new Map() };
  }

  /** Unsubscribed resources are dropped at once. */
  unsubscribe(typeUrl: string, names: readonly string[]): ClientRequest {
    const view = this.#view(typeUrl);
    view.hasGivenUp = true;
    for (const name of names) {
      view.names.delete(name);
      if (!view.wildcard) view.held.delete(name);
    }
    if (this.form === "sotw") return this.#sotw(typeUrl, view, view.nonce);
    return { typeUrl, nonce: "", error: undefined, subscribe: [], unsubscribe: names, held: new Map() };
  }

  /** The first requests of a new stream: subscribed names, and versions held already. */
  connected(): readonly ClientRequest[] {
    return [...this.#types].map(([typeUrl, view]) => {
      view.nonce = "";
      if (view.hasGivenUp) view.version = "";
      view.hasGivenUp = false;
      return this.form === "sotw" ? this.#sotw(typeUrl, view, "") : this.#firstDelta(typeUrl, view);
    });
  }

  /** The acknowledgement, or the refusal. */
  receive(response: ClientResponse): ClientRequest {
    const { typeUrl, nonce } = response;
    const view = this.#view(typeUrl);
    view.nonce = nonce;
    const reason = this.#options.check?.(response);
    if (reason !== undefined) {
      this.#options.onRefused?.(response, reason);
      // 13 is INTERNAL, as Envoy has it.
      return this.#answer(typeUrl, view, { code: 13, message: reason });
    }
    const refused = this.#options.refusals?.(response) ?? noRefusals;
    this.#apply(view, response, refused);
    if (refused.size === 0) return this.#answer(typeUrl, view, undefined);
    const message = [...refused].map(([name, why]) => `${name}: ${why}`).join("; ");
    this.#options.onRefused?.(response, message);
    return this.#answer(typeUrl, view, { code: 13, message });
  }

  #apply(
    view: TypeView,
    { typeUrl, version, resources, removed }: ClientResponse,
    refused: ReadonlyMap<string, string>,
  ): void {
    // A name that was asked for may stand for resources of other names.
    const isAliased = rulesOf(typeUrl).aliased === true;
    const asked = resources.filter(({ name }) => view.wildcard || isAliased || view.names.has(name) || name === "");
    const isComplete = this.form === "sotw" && rulesOf(typeUrl).complete;
    const present = new Set(asked.map(({ name }) => name));
    const wanted = refused.size === 0 ? asked : asked.filter(({ name }) => !refused.has(name));
    const gone = isComplete ? [...view.held.keys()].filter((name) => !present.has(name)) : removed;
    for (const name of gone) view.held.delete(name);
    for (const resource of wanted) {
      view.held.set(resource.name, this.#options.keepBytes === false ? { ...resource, bytes: noBytes } : resource);
    }
    if (refused.size === 0) view.version = version;
    this.#options.onUpdate?.({ typeUrl, version, changed: wanted, removed: gone });
  }

  #answer(typeUrl: string, view: TypeView, error: RequestError | undefined): ClientRequest {
    if (this.form === "sotw") return { ...this.#sotw(typeUrl, view, view.nonce), error };
    return { typeUrl, nonce: view.nonce, error, subscribe: [], unsubscribe: [], held: new Map() };
  }

  #sotw(typeUrl: string, { wildcard, names, version }: TypeView, nonce: string): ClientRequest {
    const requested = wildcard && names.size > 0 ? ["*", ...names] : [...names];
    return { typeUrl, nonce, error: undefined, names: requested, version };
  }

  #firstDelta(typeUrl: string, { wildcard, names, held }: TypeView): ClientRequest {
    const versions = new Map([...held].map(([name, { version }]) => [name, { version }]));
    const subscribe = wildcard ? ["*", ...names] : [...names];
    // A subscription to nothing is sent explicitly, as an empty first subscription means everything.
    const isNothing = subscribe.length === 0;
    return {
      typeUrl,
      nonce: "",
      error: undefined,
      subscribe: isNothing ? ["*"] : subscribe,
      unsubscribe: isNothing ? ["*"] : [],
      held: versions,
    };
  }

  #view(typeUrl: string): TypeView {
    let view = this.#types.get(typeUrl);
    if (view === undefined) {
      view = { wildcard: false, names: new Set(), held: new Map(), version: "", nonce: "", hasGivenUp: false };
      this.#types.set(typeUrl, view);
    }
    return view;
  }
}
