/**
 * The events of the control plane, from one poll for all callers: config-controller is polled while anybody listens, with the token of a
 * caller who listens and sees the whole mesh. Each caller gets the events that it may see. xds-server is not polled for them: its replicas
 * report to config-controller. For callers of one namespace alone it is (namespace-fleets.ts).
 */
import { delay, Wakeup } from "@flotilla/runtime";
import type { Session } from "../session/sessions.ts";
import type { Services } from "../upstream/services.ts";
import type { ReplicaWatch } from "../watch/replica-watch.ts";
import { NamespaceFleets } from "./namespace-fleets.ts";
import { type ConsoleEvent, eventsBetween, type Recent, within } from "./recent.ts";

/** An event with its number; numbers begin anew with the console. */
export interface NumberedEvent {
  readonly id: number;
  readonly event: ConsoleEvent;
  /** Only for callers who see this namespace and no more. */
  readonly namespace?: string;
}

export interface Listener {
  readonly session: Session;
  readonly take: (event: NumberedEvent) => void;
}

export interface EventFeedOptions {
  readonly services: Pick<Services, "first">;
  readonly replicas: Pick<ReplicaWatch, "list" | "onChange">;
  readonly onEvent: (event: ConsoleEvent) => void;
}

const everyMs = 500;
/** Proxies of a large fleet change all the time. */
const fleetEveryMs = 2_000;
const keptEvents = 500;

export class EventFeed {
  readonly #options: EventFeedOptions;
  readonly #listeners = new Set<Listener>();
  /** Those who have not got their `hello`, with the last event that they had: it comes after a first look, so that they miss nothing. */
  readonly #new = new Map<Listener, number | undefined>();
  readonly #wakeup = new Wakeup();
  readonly #fleets: NamespaceFleets;
  #kept: readonly NumberedEvent[] = [];
  #lastId = Date.now();
  #recent: Recent | undefined;
  #fleetAtMs = Number.NEGATIVE_INFINITY;
  #fleet: ConsoleEvent | undefined;

  constructor(options: EventFeedOptions) {
    this.#options = options;
    this.#fleets = new NamespaceFleets(options.services);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** First `hello`, then what came after `lastId`; gives a function that ends it. */
  listen(listener: Listener, lastId: number | undefined): () => void {
    this.#listeners.add(listener);
    this.#new.set(listener, lastId);
    if (this.#recent !== undefined) this.#greet();
    this.#wakeup.wake();
    return () => {
      this.#listeners.delete(listener);
      this.#new.delete(listener);
    };
  }

  #greet(): void {
    for (const [listener, lastId] of this.#new) {
      this.#new.delete(listener);
      listener.take({ id: this.#lastId, event: this.#hello(listener.session.caller.onlyNamespace) });
      if (lastId !== undefined && lastId !== this.#lastId) this.#replay(listener, lastId);
    }
  }

  /** Runs until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    const end = this.#options.replicas.onChange((changed) => {
      const services = changed.map(({ service, replica, state }) => ({ service, replica, state }));
      this.#publish({ type: "services", data: { services } });
    });
    try {
      while (!stop.aborted) {
        if (this.#listeners.size === 0) {
          // Events without a listener are dropped: the next listener reads everything.
          this.#recent = undefined;
          await this.#wakeup.wait(stop);
          continue;
        }
        await this.poll(performance.now());
        await delay(everyMs, stop);
      }
    } finally {
      end();
    }
  }

  /** Asks once, and publishes what is different. */
  async poll(nowMs: number): Promise<void> {
    const sessions = [...this.#listeners].map(({ session }) => session);
    const [now, fleets] = await Promise.all([this.#ask(), this.#fleets.poll(sessions, nowMs)]);
    for (const { namespace, data } of fleets) this.#publish({ type: "fleet", data }, namespace);
    const before = this.#recent;
    this.#recent = now ?? before;
    this.#greet();
    // The replicas' readiness shows that config-controller is away.
    if (now === undefined) return;
    for (const event of eventsBetween(before, now)) {
      if (event.type === "fleet") this.#fleet = event;
      else this.#publish(event);
    }
    if (this.#fleet === undefined || nowMs - this.#fleetAtMs < fleetEveryMs) return;
    this.#publish(this.#fleet);
    this.#fleet = undefined;
    this.#fleetAtMs = nowMs;
  }

  /** A token that is refused is passed over: that of another caller may be good. */
  async #ask(): Promise<Recent | undefined> {
    const callers = [...this.#listeners].filter(({ session }) => session.caller.onlyNamespace === undefined);
    for (const token of new Set(callers.map(({ session }) => session.token))) {
      const answer = await this.#options.services.first<Recent>("config-controller", { path: "/debug/recent", token });
      if (answer.isAnswered) return answer.value;
      if (answer.status === undefined) return undefined;
    }
    return undefined;
  }

  #publish(event: ConsoleEvent, namespace?: string): void {
    const numbered = { id: ++this.#lastId, event, ...(namespace !== undefined && { namespace }) };
    this.#kept = [...this.#kept, numbered].slice(-keptEvents);
    this.#options.onEvent(event);
    for (const listener of this.#listeners) if (!this.#new.has(listener)) give(listener, numbered);
  }

  #replay(listener: Listener, lastId: number): void {
    const first = this.#kept[0]?.id ?? this.#lastId + 1;
    const isKept = lastId + 1 >= first && lastId <= this.#lastId;
    if (!isKept) listener.take({ id: this.#lastId, event: { type: "resync", data: {} } });
    else for (const numbered of this.#kept) if (numbered.id > lastId) give(listener, numbered);
  }

  #hello(onlyNamespace: string | undefined): ConsoleEvent {
    const services = this.#options.replicas.list().map(({ service, replica, state }) => ({ service, replica, state }));
    const { generation, rejectionCount = 0 } = this.#recent ?? {};
    const rejections = onlyNamespace === undefined ? rejectionCount : 0;
    return { type: "hello", data: { services, rejections, ...(generation !== undefined && { generation }) } };
  }
}

function give({ session: { caller }, take }: Listener, { id, event, namespace }: NumberedEvent): void {
  const isOfNamespace = namespace !== undefined;
  if (isOfNamespace && namespace !== caller.onlyNamespace) return;
  const own = isOfNamespace ? event : within(caller.onlyNamespace, event);
  if (own !== undefined) take({ id, event: own });
}
