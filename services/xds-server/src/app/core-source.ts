/**
 * The streams' source of resources, over the pure core. Sessions of proxies with equal views get the
 * identical sets, because the graph finds the same results for them.
 */
import { parseIdentity } from "@flotilla/auth";
import type { ClusterAccount, SecretVerdict } from "@flotilla/auth/cluster";
import type { Observation } from "@flotilla/incremental";
import type { AppliedSet, Cause, Change } from "@flotilla/model";
import { typeUrl as typeUrls } from "@flotilla/proto";
import { Identities, Interner, type NameSet, type ResourceSet, sameNames, withFormer } from "@flotilla/xds";
import type { ClientIdentity, ProxySession, ResourceSource, Urgency } from "../serve/resource-source.ts";
import type { Subject } from "../snapshot/subject.ts";
import type { Core, Refusal } from "./core.ts";

export interface ApplyOptions {
  readonly applied: AppliedSet;
  /** The groups that the changes came in, each with its own place in the sequence. */
  readonly groups: readonly { readonly changes: readonly Change[]; readonly position: number; readonly cause: Cause }[];
  readonly urgency: Urgency;
}

/** Notified of all changes, in the order of their registration. */
export interface ChangeListener {
  beforeApply?(changes: readonly Change[], options: ApplyOptions): void;
  afterApply?(changes: readonly Change[], options: ApplyOptions): void;
}

/** The verdict on one account, as long as it is followed. */
export interface FollowedAccount extends Disposable {
  /** Undefined until it is known. */
  readonly verdict: SecretVerdict | undefined;
}

export interface SecretReviews {
  /** `onVerdict` is called when the verdict becomes known and when it changes. */
  follow(account: ClusterAccount, onVerdict: () => void): FollowedAccount;
}

export interface CoreSource extends ResourceSource {
  /** Applies changes and notifies the sessions they concern. */
  apply(changes: readonly Change[], options: ApplyOptions): readonly Refusal[];
  listen(listener: ChangeListener): void;
  /** From now on the account of a caller decides on Secrets; to be called before streams are opened. */
  decideSecrets(reviews: SecretReviews): void;
}

export function createCoreSource(core: Core): CoreSource {
  let position = 0;
  let latest: AppliedSet | undefined;
  let urgency: Urgency = "normal";
  const lists = new ResultLists();
  const listeners: ChangeListener[] = [];
  let reviews: SecretReviews | undefined;
  return {
    get position() {
      return position;
    },
    get latest() {
      return latest;
    },
    open: (client, onStale) => new Session({ core, lists, client, reviews }, (typeUrl) => onStale(typeUrl, urgency)),
    listen: (listener) => void listeners.push(listener),
    decideSecrets: (by) => {
      reviews = by;
    },
    apply: (changes, options) => {
      for (const listener of listeners) listener.beforeApply?.(changes, options);
      position = Math.max(position, options.applied.position);
      if (changes.length > 0) latest = options.applied;
      urgency = options.urgency;
      let refusals: readonly Refusal[];
      try {
        refusals = core.apply(changes);
      } finally {
        urgency = "normal";
      }
      for (const listener of listeners) listener.afterApply?.(changes, options);
      return refusals;
    },
  };
}

/** Callers who have proven who they are, over TLS: on a plaintext port anybody on the way reads along. */
function mayHaveSecrets({ identities, isPlaintext }: ClientIdentity): boolean {
  return identities.length > 0 && isPlaintext !== true;
}

/** The account that the caller proved and that its node is: connections are refused where there is none. */
function accountOf({ identities, proxy }: ClientIdentity): ClusterAccount | undefined {
  const { namespace, serviceAccount, clusterId: cluster } = proxy;
  const proven = identities
    .map(parseIdentity)
    .find((one) => one?.namespace === namespace && (serviceAccount === "" || one.serviceAccount === serviceAccount));
  return proven && { namespace, serviceAccount: proven.serviceAccount, cluster };
}

const secretTypeUrl: string = typeUrls.secret;
const extensionTypeUrl: string = typeUrls.extensionConfig;

interface Watch {
  readonly names: NameSet | undefined;
  readonly observation: Observation<ResourceSet>;
  /** The subject that it was observed for. */
  readonly subject: Subject;
  /** The set as it was last given out, of the observed one. */
  given: { readonly of: ResourceSet; readonly set: ResourceSet } | undefined;
  isStale: boolean;
}

/** A subject with what its caller proved. */
interface Derived {
  /** Made anew when this is another one. */
  readonly of: Subject;
  readonly subject: Subject;
}

interface SessionOptions {
  readonly core: Core;
  readonly lists: ResultLists;
  readonly client: ClientIdentity;
  readonly reviews: SecretReviews | undefined;
}

class Session implements ProxySession {
  readonly #core: Core;
  readonly #lists: ResultLists;
  readonly #client: ClientIdentity;
  readonly #onStale: (typeUrl: string) => void;
  readonly #watches = new Map<string, Watch>();
  #subject: Observation<Subject>;
  #subjectIsStale = false;
  #watched: readonly object[] | undefined;
  readonly #reviews: SecretReviews | undefined;
  #account: FollowedAccount | undefined;
  #reviewed: Derived | undefined;
  #proven: Derived | undefined;

  constructor({ core, lists, client, reviews }: SessionOptions, onStale: (typeUrl: string) => void) {
    this.#core = core;
    this.#lists = lists;
    this.#client = client;
    this.#reviews = reviews;
    this.#onStale = onStale;
    this.#subject = this.#observeSubject();
  }

  resources(typeUrl: string, names: NameSet | undefined): ResourceSet | undefined {
    if (typeUrl === secretTypeUrl && !mayHaveSecrets(this.#client)) return undefined;
    this.#refreshSubject();
    const before = this.#watches.get(typeUrl);
    const subject = this.#subjectFor(typeUrl);
    if (subject === undefined) return undefined;
    if (before !== undefined && sameNames(before.names, names)) {
      if (!before.isStale) return given(before);
      if (before.subject === subject && before.observation.again()) {
        before.isStale = false;
        return given(before);
      }
    }
    const watch: { isStale: boolean } = { isStale: false };
    const observation = this.#core.observe(subject, typeUrl, names, () => {
      if (watch.isStale) return;
      watch.isStale = true;
      this.#onStale(typeUrl);
    });
    // The old one is released last: what both are made of stays.
    before?.observation.release();
    this.#watched = undefined;
    if (observation === undefined) {
      this.#watches.delete(typeUrl);
      return undefined;
    }
    const made = Object.assign(watch, { names, observation, subject, given: before?.given });
    this.#watches.set(typeUrl, made);
    return given(made);
  }

  watched(): readonly object[] {
    this.#watched ??= this.#lists.of([
      this.#subject.identity,
      ...[...this.#watches.values()].map(({ observation }) => observation.identity),
    ]);
    return this.#watched;
  }

  forget(typeUrl: string): void {
    this.#watched = undefined;
    if (typeUrl === secretTypeUrl) {
      this.#account?.[Symbol.dispose]();
      this.#account = undefined;
    }
    this.#watches.get(typeUrl)?.observation.release();
    this.#watches.delete(typeUrl);
  }

  close(): void {
    for (const typeUrl of [...this.#watches.keys(), secretTypeUrl]) this.forget(typeUrl);
    this.#subject.release();
  }

  #subjectFor(typeUrl: string): Subject | undefined {
    if (typeUrl === secretTypeUrl) return this.#reviewedSubject();
    return typeUrl === extensionTypeUrl && mayHaveSecrets(this.#client) ? this.#provenSubject() : this.#subject.value;
  }

  /** Extensions may hold secrets that fetch their code. */
  #provenSubject(): Subject {
    const of = this.#subject.value;
    if (this.#proven?.of !== of) this.#proven = { of, subject: { ...of, isProven: true } };
    return this.#proven.subject;
  }

  /** The subject with the verdict on its account; undefined while that is not known, or its cluster is not: it keeps what it was sent. */
  #reviewedSubject(): Subject | undefined {
    const of = this.#subject.value;
    if (this.#reviews === undefined) return of;
    const account = accountOf(this.#client);
    if (account === undefined) return undefined;
    this.#account ??= this.#reviews.follow(account, () => this.#secretsAreStale());
    const { verdict } = this.#account;
    if (verdict === undefined || verdict === "unknown-cluster") return undefined;
    if (this.#reviewed?.of !== of || this.#reviewed.subject.secretAccess !== verdict)
      this.#reviewed = { of, subject: { ...of, secretAccess: verdict } };
    return this.#reviewed.subject;
  }

  #secretsAreStale(): void {
    const watch = this.#watches.get(secretTypeUrl);
    if (watch !== undefined) watch.isStale = true;
    this.#onStale(secretTypeUrl);
  }

  #observeSubject(): Observation<Subject> {
    return this.#core.observeSubject(this.#client.proxy, () => {
      if (this.#subjectIsStale) return;
      this.#subjectIsStale = true;
      // Queries of the proxy's services may have another result.
      for (const [typeUrl, watch] of this.#watches) {
        if (watch.isStale) continue;
        watch.isStale = true;
        this.#onStale(typeUrl);
      }
    });
  }

  #refreshSubject(): void {
    if (!this.#subjectIsStale) return;
    this.#subjectIsStale = false;
    if (this.#subject.again()) return;
    const before = this.#subject;
    this.#subject = this.#observeSubject();
    this.#watched = undefined;
    before.release();
  }
}

/** The observed set as it is now; of resources that cannot be made the client keeps the former ones. */
function given(watch: Watch): ResourceSet {
  const { value } = watch.observation;
  if (watch.given?.of !== value) watch.given = { of: value, set: withFormer(value, watch.given?.set) };
  return watch.given.set;
}

/** One list for the same results. */
class ResultLists {
  readonly #identities = new Identities();
  readonly #lists = new Interner<readonly object[]>();

  of(results: readonly object[]): readonly object[] {
    return this.#lists.intern(results.map((result) => this.#identities.of(result)).join(), () => results);
  }
}
