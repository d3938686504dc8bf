/**
 * A Lease object of the Kubernetes API, held as client-go's leader election holds one, so that both respect each other: a
 * holder who is silent for the time he wrote into it has lost it, by the observer's own clock. Over that, a newer version gets
 * it from an older one: it names itself in an annotation, and the holder lets go.
 */
import { type KubeApi, KubeError, type Lease } from "@flotilla/kube-api";
import { type Candidate, isPreferred, wins } from "./candidate.ts";
import { holderOf, Nominee, renewed } from "./lease-object.ts";

/** The Lease object, the candidate and the clock; `ttlMs` is a multiple of 1,000. */
export interface KubernetesLeaseOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
  readonly candidate: Candidate;
  /** After this silence another may take it; whole seconds. */
  readonly ttlMs: number;
  /** Monotonic: elapsed time is measured. */
  readonly nowMs: () => number;
  /**
   * Written for people and for client-go, which shows but does not trust it. A machine that slept has lost its lease, though `nowMs`
   * may not have gone on.
   */
  readonly wallClockMs: () => number;
}

/** A Lease object held as client-go's leader election holds one. */
export class KubernetesLease {
  readonly #options: KubernetesLeaseOptions;
  readonly #path: string;
  readonly #nominee = new Nominee();
  #until = { steadyMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY };
  /** The record seen last, and since when: its holder is silent for that long. */
  #seen: { readonly record: string; readonly sinceMs: number } | undefined;
  #isYielding = false;
  /** The object as we wrote it last. */
  #written: Lease | undefined;

  constructor(options: KubernetesLeaseOptions) {
    this.#options = options;
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`;
  }

  /** As far as is known here: false well before somebody else can have it. */
  get isHeld(): boolean {
    return this.heldForMs > 0;
  }

  /** How long it is held unless it is renewed; 0 when it is not. */
  get heldForMs(): number {
    const { nowMs, wallClockMs } = this.#options;
    return Math.max(0, Math.min(this.#until.steadyMs - nowMs(), this.#until.wallMs - wallClockMs()));
  }

  /**
   * Takes or keeps it; to be called several times in half of `ttlMs`. False when somebody else has it or should get it: duties
   * end then, for the next call hands it over. @throws KubeError
   */
  async hold(): Promise<boolean> {
    const { api, name, candidate } = this.#options;
    // An object that still has our version has no nominee: it need not be read.
    if (this.isHeld && this.#written !== undefined && (await this.#renew(this.#written))) return true;
    const lease = await api.get<Lease>(`${this.#path}/${name}`);
    this.#observe(lease);
    if (lease === undefined) return this.#write(undefined);
    const nominee = this.#nominee.of(lease, this.#options.nowMs(), this.#options.ttlMs);
    if (lease.spec?.holderIdentity === candidate.holder) return this.#keep(lease, nominee);
    this.#isYielding = false;
    if (this.#isFree(lease)) {
      const isFirst = nominee === undefined || nominee.holder === candidate.holder || wins(candidate, nominee);
      return isFirst ? this.#write(lease) : this.#lose();
    }
    const holder = holderOf(lease);
    if (holder !== undefined && isPreferred(candidate, holder)) await this.#nominate(lease, nominee);
    return this.#lose();
  }

  /** Somebody else may have it at once. @throws KubeError */
  async release(): Promise<void> {
    const { api, name, candidate } = this.#options;
    this.#lose();
    this.#isYielding = false;
    const lease = await api.get<Lease>(`${this.#path}/${name}`);
    if (lease?.spec?.holderIdentity === candidate.holder) await this.#free(lease);
  }

  async #keep(lease: Lease, nominee: Candidate | undefined): Promise<boolean> {
    const { candidate } = this.#options;
    if (nominee === undefined || !isPreferred(nominee, candidate)) return this.#write(lease);
    this.#lose();
    // The duties get the time between two calls to end, so that two never do them.
    if (this.#isYielding) await this.#free(lease);
    this.#isYielding = true;
    return false;
  }

  async #write(lease: Lease | undefined): Promise<boolean> {
    if (await this.#renew(lease)) return true;
    // A nominee may have been faster with its annotation: the lease is held until then.
    return lease?.spec?.holderIdentity === this.#options.candidate.holder ? this.isHeld : this.#lose();
  }

  /** False when somebody was faster. */
  async #renew(lease: Lease | undefined): Promise<boolean> {
    const { nowMs, wallClockMs, ttlMs } = this.#options;
    const [askedMs, askedWallMs] = [nowMs(), wallClockMs()];
    this.#written = await this.#put(renewed(lease, this.#options), lease);
    if (this.#written === undefined) return false;
    this.#isYielding = false;
    // Half: a holder that cannot renew it has ended its duties long before another begins them.
    this.#until = { steadyMs: askedMs + ttlMs / 2, wallMs: askedWallMs + ttlMs / 2 };
    return true;
  }

  async #nominate(lease: Lease, other: Candidate | undefined): Promise<void> {
    const { candidate, wallClockMs } = this.#options;
    if (other !== undefined && other.holder !== candidate.holder && !wins(candidate, other)) return;
    await this.#put(Nominee.write(lease, candidate, wallClockMs()), lease);
  }

  async #free(lease: Lease): Promise<void> {
    const spec = { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 };
    await this.#put({ ...lease, spec }, lease);
  }

  /** The object as it is stored; undefined when somebody was faster, or has deleted it. */
  async #put(lease: Lease, before: Lease | undefined): Promise<Lease | undefined> {
    const { api, name } = this.#options;
    try {
      if (before === undefined) return await api.create<Lease>(this.#path, lease);
      return await api.replace<Lease>(`${this.#path}/${name}`, lease);
    } catch (error) {
      if (error instanceof KubeError && (error.code === "KUBE_CONFLICT" || error.status === 404)) return undefined;
      throw error;
    }
  }

  /** Only the holder's own words count: nominees write into the object too. */
  #observe(lease: Lease | undefined): void {
    const { holderIdentity, renewTime, acquireTime } = lease?.spec ?? {};
    const record = JSON.stringify([lease?.metadata.uid, holderIdentity, renewTime, acquireTime]);
    if (this.#seen?.record !== record) this.#seen = { record, sinceMs: this.#options.nowMs() };
  }

  #isFree({ spec }: Lease): boolean {
    if (!spec?.holderIdentity) return true;
    const ttlMs = (spec.leaseDurationSeconds ?? 0) * 1_000;
    return this.#seen !== undefined && this.#options.nowMs() - this.#seen.sinceMs > ttlMs;
  }

  #lose(): false {
    this.#until = { steadyMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY };
    return false;
  }
}
