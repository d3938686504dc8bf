/**
 * The rotation as one replica lives it: it follows the shared state, reports what it issued and that it is there, and, while it
 * holds the lease, moves the state on when the evidence allows it.
 */
import { randomUUID } from "node:crypto";
import type { Bus } from "@flotilla/bus";
import { type Logger, sharedDelay, Turns } from "@flotilla/runtime";
import { CaError } from "../errors.ts";
import type { MaterialSource } from "../roots/material-source.ts";
import type { SelfSignedStore } from "../roots/self-signed-store.ts";
import type { ActiveMaterial } from "./active-material.ts";
import { compareEvidence, type EvidenceOptions, type EvidenceSummary, GatheredEvidence } from "./gathered-evidence.ts";
import { appliedText, type Holdup } from "./holdups.ts";
import type { Holding } from "./ledger.ts";
import { abort, type Phase, type RotationState, rotate, step } from "./rotation-state.ts";
import { openShared, type Shared } from "./shared-buckets.ts";
import { StateStore } from "./state-store.ts";
import { createTrustPublisher } from "./trust-publisher.ts";
import { resolveWithout } from "./without.ts";

export interface RotationOptions extends EvidenceOptions {
  readonly source: MaterialSource;
  readonly store: SelfSignedStore;
  readonly active: ActiveMaterial;
  readonly namespace: string;
  readonly stateFile: string;
  readonly checkMs: number;
  readonly settleMs: number;
  /** The roots that proxies are given to trust, when those of the signing material are these. */
  readonly bundleOf: (rootsPem: string) => string;
  readonly log: Logger;
  /** Why this replica does not follow; undefined when it does. */
  readonly onProblem: (reason: string | undefined) => void;
}

export interface RotationStatus extends EvidenceSummary {
  readonly state: RotationState;
  readonly holdups: readonly Holdup[];
}

/** While no rotation is going on. The state is watched: this finds that the bus has lost it. */
const readAgainMs = 10_000;
/** The same; equal reports and a lease hold for 10 s and more. */
const [reportAgainMs, renewLeftMs] = [4_000, 6_000];
const attempts = 10;

export class Rotation {
  readonly #options: RotationOptions;
  readonly #states: StateStore;
  readonly #evidence: GatheredEvidence;
  readonly #known = Promise.withResolvers<void>();
  #shared: Shared | undefined;
  /** Serializes reads and writes: a write must not overtake a read's result. */
  readonly #turns = new Turns();
  #applied = "";
  #publishTrust: ReturnType<typeof createTrustPublisher> | undefined;
  #heldUpBy = "";
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** Id of the root that was given up last, and is gone. */
  #dropped = "";

  constructor(options: RotationOptions) {
    this.#options = options;
    this.#states = new StateStore(options.stateFile, options.log);
    this.#evidence = new GatheredEvidence(options);
  }

  /** A certificate that this replica issued. */
  record(holding: Holding): void {
    this.#evidence.record(holding);
  }

  /** Certificates that this replica issued, the first to end first. */
  endings(most: number): ReturnType<GatheredEvidence["endings"]> {
    return this.#evidence.endings(most);
  }

  /** The shared state has been read. */
  get known(): Promise<void> {
    return this.#known.promise;
  }

  /** The phase that this replica applies now. */
  get phase(): Phase {
    return this.#states.state.phase;
  }

  /** One of the replicas renews and moves on; without a bus there is only this one. */
  get leads(): boolean {
    return this.#shared?.lease.isHeld ?? true;
  }

  /** Goes on by the copy on disk, for the bus may be away. */
  async restore(): Promise<void> {
    await Promise.all([this.#states.restore(), this.#evidence.restore()]);
    await this.#follow();
  }

  /** Runs until `stop` fires; may be called again when it has failed. */
  async run(bus: Bus, outer: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const stop = AbortSignal.any([outer, ended.signal]);
    try {
      await this.#run(bus, stop);
    } finally {
      ended.abort();
    }
  }

  async #run(bus: Bus, stop: AbortSignal): Promise<void> {
    const { source, log } = this.#options;
    const evidence = this.#evidence;
    const issuedSinceMs = source.current?.certificate.notBeforeMs ?? 0;
    const shared = await openShared(bus, evidence, { ...this.#options, issuedSinceMs });
    const { values, reports, lease } = shared;
    this.#shared = shared;
    this.#expectState();
    const ticking = async (): Promise<void> => {
      while (!stop.aborted) {
        await this.#tickSafely(shared);
        await sharedDelay(this.#options.checkMs, stop);
      }
      try {
        await evidence.sayGoodbye(values);
        await lease.release();
      } catch (error) {
        log.debug("farewell not sent", { error });
      }
    };
    const comparing = compareEvidence({ bus, values, evidence, log }, stop);
    const following = evidence.follow(values, reports, { onState: () => this.#expectState(), stop });
    await Promise.all([ticking(), following, comparing]);
  }

  /** Begins, or goes on without some that hold it up. @throws CaError CA_ROTATION, CA_BAD_MATERIAL */
  rotate(without: readonly string[]): Promise<RotationStatus> {
    return this.#turns.take(() => this.#rotate(without));
  }

  /** @throws CaError CA_ROTATION */
  abort(): Promise<RotationStatus> {
    return this.#turns.take(() => this.#abort());
  }

  /** @throws CaError CA_ROTATION when the bus is away. */
  status(): Promise<RotationStatus> {
    return this.#turns.take(() => this.#status());
  }

  async #rotate(without: readonly string[]): Promise<RotationStatus> {
    const { active, source, nowMs, log } = this.#options;
    await this.#change(async (state) => {
      await this.#dropAbandoned();
      const roots = state.roots ?? {
        old: source.current?.rootId ?? "",
        next: (await active.prepareNext()).rootId,
        origin: (await active.readNext())?.origin ?? "self-signed",
      };
      const id = state.roots === undefined ? randomUUID().slice(0, 8) : state.id;
      const begun = rotate(state, { id, roots, without: [], nowMs: nowMs() });
      if (without.length === 0) return begun;
      const holdups = await this.#evidence.holdups(begun, this.#reachable());
      return rotate(begun, { id, roots, without: resolveWithout(without, holdups, begun.without), nowMs: nowMs() });
    });
    log.info("rotation asked for", { id: this.#states.state.id, without });
    return this.#status();
  }

  async #abort(): Promise<RotationStatus> {
    const { nowMs, log } = this.#options;
    await this.#change((state) => Promise.resolve(abort(state, nowMs())));
    log.info("rotation aborted", { id: this.#states.state.id, phase: this.#states.state.phase });
    await this.#dropAbandoned();
    return this.#status();
  }

  async #status(): Promise<RotationStatus> {
    const shared = this.#reachable();
    await this.#states.read(shared.values);
    const holdups = await this.#evidence.holdups(this.#states.state, shared);
    return { state: this.#states.state, holdups, ...this.#evidence.summary() };
  }

  async #change(next: (state: RotationState) => Promise<RotationState>): Promise<void> {
    const { values } = this.#reachable();
    for (let attempt = 0; attempt < attempts; attempt++) {
      await this.#states.read(values);
      if (await this.#states.write(values, await next(this.#states.state))) return this.#follow();
    }
    throw new CaError("CA_ROTATION", "the state of the rotation is changed by others all the time");
  }

  #reachable(): Shared {
    if (this.#shared?.bus.state.connected !== true)
      throw new CaError("CA_ROTATION", "the bus is unreachable, without which the state of the others is not known");
    return this.#shared;
  }

  async #tickSafely(shared: Shared): Promise<void> {
    if (!shared.bus.state.connected) return;
    try {
      await this.#turns.take(() => this.#tick(shared));
    } catch (error) {
      // The bus logs that it is away by itself; the next tick tries again.
      this.#options.log.warn("rotation state not read", { error });
    }
  }

  async #tick(shared: Shared): Promise<void> {
    const { source, active, bundleOf } = this.#options;
    const { values, lease } = shared;
    if (!this.#isCalm || performance.now() - this.#readAtMs >= readAgainMs) {
      // Before it is read: a change meanwhile is read with the next tick.
      this.#readAtMs = performance.now();
      await this.#states.read(values);
    }
    await this.#follow();
    this.#known.resolve();
    const report = { applied: this.#applied, root: source.current?.rootId ?? "" };
    await this.#evidence.report(values, report, this.#isCalm ? reportAgainMs : 0);
    const isRenewed = this.#isCalm && lease.heldForMs > renewLeftMs;
    if (!isRenewed && !(await lease.hold())) {
      this.#publishTrust = undefined;
      return;
    }
    this.#publishTrust ??= createTrustPublisher({ ...this.#options, bus: shared.bus });
    const { current } = active;
    if (current !== undefined) await this.#publishTrust(bundleOf(current.rootsPem), current.crlPem);
    await this.#moveOn(shared);
  }

  get #isCalm(): boolean {
    return this.#states.state.phase === "idle";
  }

  /** Reads the shared state with the next tick. */
  #expectState(): void {
    this.#readAtMs = Number.NEGATIVE_INFINITY;
  }

  async #moveOn(shared: Shared): Promise<void> {
    const { nowMs, settleMs, log, store } = this.#options;
    const state = this.#states.state;
    if (state.phase === "idle") return this.#dropAbandoned();
    const holdups = await this.#evidence.holdups(this.#states.state, shared);
    this.#reportHoldups(state, holdups);
    const next = step(state, { isHeldUp: holdups.length > 0, nowMs: nowMs(), settleMs });
    if (next === state) return;
    const isEnd = next.phase === "idle";
    // Before the others learn that it is over: they look then for what is in use.
    if (isEnd && next.last?.outcome === "rotated") await store.promote();
    if (!(await this.#states.write(shared.values, next))) return;
    await this.#dropAbandoned();
    if (next.phase !== state.phase) log.info("rotation goes on", { id: state.id, from: state.phase, to: next.phase });
    await this.#follow();
  }

  /** The key of a root that was given up is destroyed, also where a crash came in between: no rotation takes it up again. */
  async #dropAbandoned(): Promise<void> {
    const { phase, last } = this.#states.state;
    if (phase !== "idle" || last?.abandoned === undefined || last.abandoned === this.#dropped) return;
    await this.#options.store.dropNext(last.abandoned);
    this.#dropped = last.abandoned;
  }

  /** Once for each set of names, not at each look. */
  #reportHoldups({ id, phase }: RotationState, holdups: readonly Holdup[]): void {
    const names = holdups.map(({ name }) => name).join(", ");
    if (names === this.#heldUpBy) return;
    this.#heldUpBy = names;
    if (holdups.length > 0)
      this.#options.log.info("rotation blocked", { id, phase, count: holdups.length, by: holdups.slice(0, 10) });
  }

  /** Acts on the state; failures are reported, and hold the rotation up for all. */
  async #follow(): Promise<void> {
    const { active, onProblem } = this.#options;
    const { state } = this.#states;
    const wanted = appliedText(state);
    if (this.#applied === wanted) return;
    try {
      await active.adopt(state);
      this.#applied = wanted;
      onProblem(undefined);
    } catch (error) {
      if (!(error instanceof CaError)) throw error;
      onProblem(error.reason);
    }
  }
}
