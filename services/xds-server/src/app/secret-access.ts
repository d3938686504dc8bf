/**
 * Accounts that may read Secrets of their namespaces: the API server of their cluster decides, or a setting where there is none. Verdicts are
 * kept while a stream asks for Secrets, and asked for again after a while, and when the cluster comes, changes or goes.
 */
import type { ClusterAccount, OwnCluster, ReviewSecretAccess, SecretVerdict } from "@flotilla/auth/cluster";
import type { Logger } from "@flotilla/runtime";
import type { XdsService } from "../settings.ts";
import type { FollowedAccount, SecretReviews } from "./core-source.ts";
import type { Identity } from "./identity.ts";
import type { ServedMesh } from "./mesh.ts";

export interface SecretReviewsOptions {
  readonly review: ReviewSecretAccess;
  readonly log: Logger;
  /** Until a right that was given is asked about again. */
  readonly grantedMs?: number;
  /** The same for one that was refused: somebody may just be giving it. */
  readonly refusedMs?: number;
  /** After an answer that did not come; each further one waits twice as long, up to `refusedMs`. */
  readonly retryMs?: number;
}

interface Entry {
  readonly account: ClusterAccount;
  readonly listeners: Set<() => void>;
  verdict: SecretVerdict | undefined;
  failures: number;
  timer: NodeJS.Timeout | undefined;
  /** Counts the reviews: the answer of one that another has overtaken does not count. */
  reviews: number;
}

export class AccountReviews implements SecretReviews, Disposable {
  readonly #options: Required<SecretReviewsOptions>;
  readonly #entries = new Map<string, Entry>();
  #isDisposed = false;

  constructor(options: SecretReviewsOptions) {
    this.#options = { grantedMs: 300_000, refusedMs: 60_000, retryMs: 500, ...options };
  }

  follow(account: ClusterAccount, onVerdict: () => void): FollowedAccount {
    const name = `${account.namespace}/${account.serviceAccount} ${account.cluster}`;
    const entry = this.#entries.get(name) ?? this.#begin(name, account);
    const listener = () => onVerdict();
    entry.listeners.add(listener);
    return {
      get verdict() {
        return entry.verdict;
      },
      [Symbol.dispose]: () => {
        entry.listeners.delete(listener);
        if (entry.listeners.size > 0 || this.#entries.get(name) !== entry) return;
        clearTimeout(entry.timer);
        this.#entries.delete(name);
      },
    };
  }

  /** Its API server is another one now, or there is none any more. */
  noteCluster(cluster: string): void {
    for (const [name, entry] of this.#entries) {
      if (entry.account.cluster !== cluster) continue;
      clearTimeout(entry.timer);
      void this.#ask(name, entry);
    }
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    for (const { timer } of this.#entries.values()) clearTimeout(timer);
    this.#entries.clear();
  }

  #begin(name: string, account: ClusterAccount): Entry {
    const entry: Entry = {
      ...{ account, listeners: new Set(), verdict: undefined, failures: 0 },
      ...{ timer: undefined, reviews: 0 },
    };
    this.#entries.set(name, entry);
    void this.#ask(name, entry);
    return entry;
  }

  async #ask(name: string, entry: Entry): Promise<void> {
    const { review, log, grantedMs, refusedMs, retryMs } = this.#options;
    const { cluster, namespace, serviceAccount } = entry.account;
    const place = { account: `${namespace}/${serviceAccount}`, cluster };
    const turn = ++entry.reviews;
    const isOver = () => this.#isDisposed || this.#entries.get(name) !== entry || entry.reviews !== turn;
    let waitMs: number;
    try {
      const verdict = await review(entry.account);
      if (isOver()) return;
      entry.failures = 0;
      waitMs = verdict === "granted" ? grantedMs : refusedMs;
      if (verdict !== entry.verdict) {
        entry.verdict = verdict;
        if (verdict === "refused") log.warn("the account may not read Secrets of its namespace", place);
        if (verdict === "unknown-cluster") log.warn("proxies of an unknown cluster are sent no Secrets", place);
        for (const listener of [...entry.listeners]) listener();
      }
    } catch (error) {
      if (isOver()) return;
      // A verdict stays until another one is known; without any, nothing is sent.
      if (entry.failures++ === 0) log.warn("right to read Secrets not checked", { ...place, error });
      waitMs = Math.min(retryMs * 2 ** (entry.failures - 1), refusedMs);
    }
    if (isOver()) return;
    entry.timer = setTimeout(() => void this.#ask(name, entry), waitMs).unref();
  }
}

/** The API servers decide where there are some, else SECRET_READERS; without both, it is not asked who has an account. */
export function decideSecrets(
  { settings, log }: XdsService,
  { mesh, identity }: { readonly mesh: ServedMesh; readonly identity: Identity },
): Disposable {
  const { secretReaders } = settings;
  const byList = secretReaders.length === 0 ? undefined : reviewByList(secretReaders);
  const { cluster } = identity;
  const review =
    cluster === undefined ? byList : settings.remoteSecrets ? cluster.reviewSecretAccess : reviewOwn(cluster);
  if (review === undefined) return { [Symbol.dispose]: () => undefined };
  const reviews = new AccountReviews({ review, log });
  mesh.source.decideSecrets(reviews);
  cluster?.onRemote((name) => reviews.noteCluster(name));
  return reviews;
}

/** API servers of other clusters are not asked: no account there may read Secrets. Source: istiod with the same setting. */
function reviewOwn({ review: { clusterId }, reviewSecretAccess, isRemote }: OwnCluster): ReviewSecretAccess {
  return async (account) => {
    if (account.cluster === clusterId) return reviewSecretAccess(account);
    return (await isRemote(account.cluster)) ? "refused" : "unknown-cluster";
  };
}

/** `*` stands for all accounts, `namespace/*` for those of a namespace. */
export function reviewByList(readers: readonly string[]): ReviewSecretAccess {
  const allowed = new Set(readers);
  const isAllowed = (namespace: string, account: string) =>
    allowed.has("*") || allowed.has(`${namespace}/*`) || allowed.has(`${namespace}/${account}`);
  return async ({ namespace, serviceAccount }) => (isAllowed(namespace, serviceAccount) ? "granted" : "refused");
}
