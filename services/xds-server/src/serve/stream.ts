/**
 * One stream: the state machine of packages/xds and one writer. A message is written only when the one
 * before has left for the network, so a client that does not read costs one message and a note of what is due.
 */
import { shortName } from "@flotilla/proto";
import { type CallStatus, frameHeadBytes } from "@flotilla/raw-grpc";
import type { Logger } from "@flotilla/runtime";
import {
  blamed,
  type ClientRequest,
  type Effect,
  type FailedResources,
  type Form,
  newStream,
  overLimit,
  type ResourceSet,
  type StreamEvent,
  type StreamState,
  type Subscription,
  type TurnMessage,
} from "@flotilla/xds";
import { Pacing, type Pushable, type Urgency } from "../push/push-queue.ts";
import { AnswerQueue, maxOpenQuestions } from "./debug-answers.ts";
import { type Wire, Writer } from "./message-cache.ts";
import { Progress } from "./progress.ts";
import type { ClientIdentity, ProxySession } from "./resource-source.ts";
import { type StreamContext, TurnTimer } from "./stream-context.ts";
import { streamEnd } from "./stream-end.ts";
import type { StreamRecord } from "./stream-record.ts";

export interface StreamOptions {
  /** Unique within the process. */
  readonly id: string;
  readonly form: Form;
  readonly client: ClientIdentity;
  readonly wire: Wire;
  /** Called once, whichever side ended the stream. */
  readonly onClosed: (reason: string) => void;
}

export class Stream implements Pushable {
  readonly #context: StreamContext;
  readonly #wire: Wire;
  readonly #form: Form;
  readonly #client: ClientIdentity;
  readonly #session: ProxySession;
  readonly #log: Logger;
  readonly #onClosed: (reason: string) => void;
  readonly #progress: Progress;
  readonly #retries = new Set<string>();
  /** Resources that could not be made when the type was last looked at. */
  readonly #failed = new Map<string, FailedResources>();
  readonly #writer: Writer;
  readonly #answers: AnswerQueue;
  readonly #timer: TurnTimer;
  readonly #pacing: Pacing;
  readonly record: StreamRecord;
  #state: StreamState = newStream;
  #isClosed = false;
  #urgency: Urgency = "normal";

  constructor({ id, form, client, wire, onClosed }: StreamOptions, context: StreamContext) {
    this.#context = context;
    this.#wire = wire;
    this.#form = form;
    this.#client = client;
    this.#onClosed = onClosed;
    const connectedAtMs = Date.now();
    this.#progress = new Progress(context, connectedAtMs);
    this.#log = context.log.child({ stream: id, proxy: client.proxy.id });
    this.#timer = new TurnTimer(context.now, () => this.#onTime());
    this.#pacing = new Pacing(context.limits.paceWaitMs);
    this.#writer = new Writer({
      ...{ wire, deadlines: context.writes, metrics: context.metrics, now: context.now },
      onStuck: () => this.#endStuck(context.limits.stuckMs),
      onFailed: (reason) => this.close(`cannot write: ${reason}`),
      // Types that became due meanwhile, or waited for this message: one turn sends them.
      onDone: () => {
        if (!this.#isClosed && this.#answers.writeNext()) return;
        if (this.#isDue()) this.#wantTurn(this.#urgency);
      },
    });
    this.#answers = new AnswerQueue(this.#writer);
    this.#session = context.source.open(client, (typeUrl, urgency) => this.#onStale(typeUrl, urgency));
    const { proxy, identities } = client;
    this.record = {
      ...{ id, proxy, identities, peer: wire.peer, form, connectedAtMs },
      isIdle: () => this.#state.types.size === 0,
      types: () => this.#progress.types(this.#state),
      acknowledgedVersion: (typeUrl) => this.#progress.acknowledgedVersion(typeUrl, this.#state),
      answeredPosition: () => this.#progress.answeredPosition(this.#state),
      watched: () => this.#session.watched(),
    };
    context.observer.opened?.(this.record);
  }

  receive(request: ClientRequest): void {
    if (this.#isClosed) return;
    const { limits, metrics } = this.#context;
    const reason = overLimit(this.#state, request, limits);
    if (reason !== undefined) {
      metrics.refused("limit");
      this.#log.warn("stream closed: a request exceeds a limit", { reason });
      this.end(streamEnd.overLimit(reason));
      return;
    }
    for (const effect of this.#step({ type: "request", request })) this.#apply(effect);
  }

  /** Part of Pushable: called when it is this stream's turn. */
  push(flushed: () => void): number | undefined {
    if (this.#isClosed || this.#writer.isBusy) return undefined;
    const { states, bodies, limits, now } = this.#context;
    const startedAt = now();
    const pacedUntilMs = this.#pacing.waitsUntil(this.#state, startedAt);
    if (pacedUntilMs !== undefined) {
      this.#timer.wakeAt(pacedUntilMs);
      return undefined;
    }
    const turn = states.takeTurn(this.#state, {
      form: this.#form,
      bodies,
      nowMs: startedAt,
      orderWaitMs: limits.orderWaitMs,
      endpointsFirst: this.#urgency === "urgent",
      setOf: (typeUrl, subscription) => this.#setOf(typeUrl, subscription),
    });
    this.#state = turn.state;
    if (this.#retries.size > 0) this.#timer.wakeAt(now() + limits.retryMs);
    if (turn.retryAtMs !== undefined) this.#timer.wakeAt(turn.retryAtMs);
    this.#urgency = "normal";
    const bytes = turn.message && this.#send(turn.message, flushed);
    this.#progress.looked(this.#state, turn.message !== undefined);
    if (turn.message !== undefined) this.#context.metrics.pushTime(turn.message.typeUrl, (now() - startedAt) / 1000);
    return bytes;
  }

  /** The client is gone, or goes. */
  close(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer.clear();
    this.#answers.clear();
    this.#context.scheduler.remove(this);
    this.#session.close();
    this.#progress.end();
    this.#context.observer.closed?.(this.record, reason);
    this.#onClosed(reason);
  }

  end(reason: CallStatus): void {
    if (this.#isClosed) return;
    this.close(reason.details);
    this.#wire.end(reason);
  }

  #endStuck(stuckMs: number): void {
    this.#context.metrics.closedStuck();
    this.#log.warn("stream closed: the client does not read", { afterMs: stuckMs });
    this.end(streamEnd.stuck(stuckMs));
  }

  #send(turn: TurnMessage, flushed: () => void): number {
    const { typeUrl, set, body, version, again } = turn;
    const { cache, metrics, observer, bodies } = this.#context;
    const before = this.#state.types.get(typeUrl)?.sent;
    const last = this.#progress.last(typeUrl);
    const message = cache.encode(this.#form, body, version, last.serial);
    const { frame, nonce } = message;
    this.#step({ type: "sent", typeUrl, set, body, nonce, again });
    this.#pacing.sent(typeUrl, this.#context.now());
    const bytes = frame.length - frameHeadBytes;
    const receipt = this.#progress.sent(turn, message, bytes);
    metrics.sent(typeUrl, bytes);
    const changed = () => (before === undefined ? [] : bodies.diff(before, set).changed);
    observer.sent?.(this.record, typeUrl, receipt, before && { before, from: last.position, after: set, changed });
    const { position, applied: cause, resources } = receipt;
    this.#log.debug("pushed", { type: shortName(typeUrl), position, resources, bytes, cause });
    this.#writer.write(frame, flushed);
    return bytes;
  }

  #apply(effect: Effect): void {
    const { metrics, observer } = this.#context;
    switch (effect.type) {
      case "due":
        this.#wantTurn("normal");
        return;
      case "acknowledged": {
        const receipt = this.#progress.acknowledged(effect.typeUrl, effect.nonce, this.#state);
        if (receipt !== undefined) observer.acknowledged?.(this.record, effect.typeUrl, receipt);
        // Something may have waited for this.
        if (this.#isDue()) this.#wantTurn(this.#urgency);
        return;
      }
      case "rejected": {
        const { typeUrl, rejection } = effect;
        metrics.rejected(typeUrl);
        if (effect.isRepeat) return;
        this.#progress.rejected(typeUrl, this.#state);
        this.#context.rejections.write(this.#log, this.#client.proxy.id, typeUrl, rejection);
        const suspects = this.#state.types.get(typeUrl)?.suspects.keys() ?? [];
        observer.rejected?.(this.record, typeUrl, rejection, blamed(rejection.message, suspects));
        if (this.#isDue()) this.#wantTurn(this.#urgency);
        return;
      }
      case "expired":
        metrics.expiredNonce(effect.typeUrl);
        return;
      case "forgotten":
        this.#session.forget(effect.typeUrl);
        this.#progress.forget(effect.typeUrl);
        return;
      case "health":
        observer.health?.(this.record, effect.healthy, effect.message);
        return;
      case "question":
        if (this.#answers.ask()) void this.#answer(effect.typeUrl, effect.names);
        else this.end(streamEnd.overLimit(`more than ${maxOpenQuestions} debug questions wait for their answer`));
        return;
    }
  }

  async #answer(typeUrl: string, names: readonly string[]): Promise<void> {
    try {
      const resources = (await this.#context.debug?.(typeUrl, names, this.#client)) ?? [];
      if (this.#isClosed) return;
      if ("refused" in resources) return this.end(streamEnd[resources.refused](resources.message));
      const body = { typeUrl, resources, removed: [] };
      const { frame } = this.#context.cache.encode(this.#form, body, "", 0);
      this.#answers.answer(frame);
    } catch (error) {
      this.#answers.drop();
      this.#log.error("a debug question failed", { typeUrl, error });
    }
  }

  #onStale(typeUrl: string, urgency: Urgency): void {
    if (this.#isClosed) return;
    if (urgency === "urgent") this.#urgency = "urgent";
    const isNew = this.#step({ type: "stale", typeUrl }).length > 0;
    this.#progress.stale(typeUrl, this.#state);
    if (isNew || urgency === "urgent") this.#wantTurn(this.#urgency);
  }

  /** A stream that is writing asks for its next turn when that is done. */
  #wantTurn(urgency: Urgency): void {
    if (!this.#isClosed && !this.#writer.isBusy) this.#context.scheduler.enqueue(this, urgency);
  }

  #setOf(typeUrl: string, { wildcard, names }: Subscription): ResourceSet | undefined {
    try {
      const set = this.#session.resources(typeUrl, wildcard ? undefined : names);
      this.#noteFailed(typeUrl, set?.failed);
      return set;
    } catch (error) {
      // The client keeps what it has, the other types go on.
      this.#context.metrics.internalError();
      this.#log.error("resources cannot be made", { type: shortName(typeUrl), error });
      this.#retries.add(typeUrl);
      return undefined;
    }
  }

  /** The client keeps those that it has, and gets all others. */
  #noteFailed(typeUrl: string, failed: FailedResources | undefined): void {
    if (failed === this.#failed.get(typeUrl)) return;
    if (failed === undefined) {
      this.#failed.delete(typeUrl);
      return;
    }
    this.#failed.set(typeUrl, failed);
    this.#context.metrics.internalError();
    const [[resource, error] = []] = failed;
    this.#log.error("resources cannot be made", { type: shortName(typeUrl), count: failed.size, resource, error });
  }

  #onTime(): void {
    for (const typeUrl of this.#retries) this.#step({ type: "stale", typeUrl });
    this.#retries.clear();
    if (this.#isDue()) this.#wantTurn("normal");
  }

  #isDue(): boolean {
    for (const { due } of this.#state.types.values()) if (due !== undefined) return true;
    return false;
  }

  #step(event: StreamEvent): readonly Effect[] {
    const [state, effects] = this.#context.states.step(this.#state, event);
    this.#state = state;
    return effects;
  }
}
