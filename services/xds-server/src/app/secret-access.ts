/**
 * Accounts that may read Secrets of their namespaces: the API server decides, or a setting where there is none. Verdicts are kept while a
 * stream asks for Secrets, and asked for again after a while.
 */
import type { Account, ReviewSecretAccess } from "@flotilla/auth/cluster";
import type { Logger } from "@flotilla/runtime";
import type { XdsService } from "../settings.ts";
import type { SecretAccess } from "../snapshot/subject.ts";
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
  readonly account: Account;
  readonly listeners: Set<() => void>;
  verdict: SecretAccess | undefined;
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

export class AccountReviews implements SecretReviews, Disposable {
  readonly #options: Required<SecretReviewsOptions>;
  readonly #entries = new Map<string, Entry>();
  #isDisposed = false;

  constructor(options: SecretReviewsOptions) {
    this.#options = { grantedMs: 300_000, refusedMs: 60_000, retryMs: 500, ...options };
  }

  follow(account: Account, onVerdict: () => void): FollowedAccount {
    const name = `${account.namespace}/${account.serviceAccount}`;
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

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    for (const { timer } of this.#entries.values()) clearTimeout(timer);
    this.#entries.clear();
  }

  #begin(name: string, account: Account): Entry {
    const entry: Entry = { account, listeners: new Set(), verdict: undefined, failures: 0, timer: undefined };
    this.#entries.set(name, entry);
    void this.#ask(name, entry);
    return entry;
  }

  async #ask(name: string, entry: Entry): Promise<void> {
    const { review, log, grantedMs, refusedMs, retryMs } = this.#options;
    let waitMs: number;
    try {
      const verdict = (await review(entry.account)) ? "granted" : "refused";
      entry.failures = 0;
      waitMs = verdict === "granted" ? grantedMs : refusedMs;
      if (this.#entries.get(name) === entry && verdict !== entry.verdict) {
        entry.verdict = verdict;
        if (verdict === "refused") log.warn("the account may not read Secrets of its namespace", { account: name });
        for (const listener of [...entry.listeners]) listener();
      }
    } catch (error) {
      // A verdict stays until another one is known; without any, nothing is sent.
      if (entry.failures++ === 0) log.warn("right to read Secrets not checked", { account: name, error });
      waitMs = Math.min(retryMs * 2 ** (entry.failures - 1), refusedMs);
    }
    if (this.#isDisposed || this.#entries.get(name) !== entry) return;
    entry.timer = setTimeout(() => void this.#ask(name, entry), waitMs).unref();
  }
}

/** The API server decides where there is one, else SECRET_READERS; without both, it is not asked who has an account. */
export function decideSecrets(
  { settings, log }: XdsService,
  { mesh, identity }: { readonly mesh: ServedMesh; readonly identity: Identity },
): Disposable {
  const { secretReaders } = settings;
  const byList = secretReaders.length === 0 ? undefined : reviewByList(secretReaders);
  const review = identity.cluster?.reviewSecretAccess ?? byList;
  if (review === undefined) return { [Symbol.dispose]: () => undefined };
  const reviews = new AccountReviews({ review, log });
  mesh.source.decideSecrets(reviews);
  return reviews;
}

/** `*` stands for all accounts, `namespace/*` for those of a namespace. */
export function reviewByList(readers: readonly string[]): ReviewSecretAccess {
  const allowed = new Set(readers);
  return async ({ namespace, serviceAccount }) =>
    allowed.has("*") || allowed.has(`${namespace}/*`) || allowed.has(`${namespace}/${serviceAccount}`);
}
