/**
 * The sessions of callers, in memory only: a cookie names a session, and the caller's token never leaves the server but to services.
 * A session ends when it is idle for too long, when its token ends, and when its caller signs out.
 */
import { randomBytes } from "node:crypto";
import { RequestRefused } from "../errors.ts";

/** The signed-in caller; see SessionInfo of the contract. */
export interface SessionCaller {
  readonly account: string;
  readonly mayWrite: boolean;
  readonly onlyNamespace?: string;
  readonly tokenExpiresAtMs?: number;
}

/** Why a session ended. */
export type SessionEnd = "idle" | "token-expired" | "signed-out";

export interface Session {
  readonly caller: SessionCaller;
  /** Never shown, never logged. */
  readonly token: string;
  /** Fires with a `SessionEnd` as its reason. */
  readonly ended: AbortSignal;
}

interface Held extends Session {
  usedAtMs: number;
  readonly end: AbortController;
}

export interface SessionOptions {
  readonly idleMs: number;
  readonly maxSessions: number;
  readonly nowMs: () => number;
}

export class Sessions {
  readonly #options: SessionOptions;
  readonly #held = new Map<string, Held>();

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Gives the id that the cookie holds. @throws RequestRefused too-many */
  begin(caller: SessionCaller, token: string): string {
    this.sweep();
    const { maxSessions, nowMs } = this.#options;
    if (this.#held.size >= maxSessions)
      throw new RequestRefused("too-many", `${maxSessions} sessions are open already`);
    const id = randomBytes(32).toString("base64url");
    const end = new AbortController();
    this.#held.set(id, { caller, token, end, ended: end.signal, usedAtMs: nowMs() });
    return id;
  }

  /** The session of a cookie, which counts as used now; undefined when it has ended. */
  use(id: string): Session | undefined {
    const session = this.#alive(id);
    if (session !== undefined) session.usedAtMs = this.#options.nowMs();
    return session;
  }

  end(id: string, reason: SessionEnd): void {
    const session = this.#held.get(id);
    this.#held.delete(id);
    session?.end.abort(reason);
  }

  /** Ends what is idle or has no token any more. */
  sweep(): void {
    for (const id of [...this.#held.keys()]) this.#alive(id);
  }

  /** Ends all of them. */
  endAll(): void {
    for (const id of [...this.#held.keys()]) this.end(id, "signed-out");
  }

  #alive(id: string): Held | undefined {
    const session = this.#held.get(id);
    if (session === undefined) return undefined;
    const nowMs = this.#options.nowMs();
    const { tokenExpiresAtMs = Number.POSITIVE_INFINITY } = session.caller;
    const reason =
      nowMs >= tokenExpiresAtMs
        ? "token-expired"
        : nowMs - session.usedAtMs > this.#options.idleMs
          ? "idle"
          : undefined;
    if (reason === undefined) return session;
    this.end(id, reason);
    return undefined;
  }
}
