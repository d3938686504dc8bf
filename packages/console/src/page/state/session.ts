/** The session of the user: the signed-in account, and the stream of events, which is open as long as there is one. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { SessionInfo } from "../../contract/index.ts";
import type { Answers } from "./answers.ts";
import type { FetchJson, Problem } from "./fetch-json.ts";
import { followUpdates, type LiveOptions, type LiveUpdates } from "./live-updates.ts";

export interface SessionOptions extends Pick<LiveOptions, "later" | "random"> {
  readonly fetchJson: FetchJson;
  /** Forgotten when the session ends. */
  readonly answers: Pick<Answers, "invalidate" | "clear">;
  readonly openEvents: LiveOptions["open"];
}

export interface Session {
  /** The signed-in account: undefined until the server has answered. */
  readonly session: ReadonlySignal<SessionInfo | "signed-out" | undefined>;
  /** True where screens offer to change something; the server checks each request again. */
  readonly mayWrite: ReadonlySignal<boolean>;
  /** Why the sign-in screen is shown to somebody who was signed in. */
  readonly signedOutBecause: ReadonlySignal<string>;
  /** The stream of events; undefined while no user is signed in. */
  readonly updates: ReadonlySignal<LiveUpdates | undefined>;
  /** Asks the server who is signed in. */
  readSession(): Promise<Problem | undefined>;
  /** Trades a token for a session, which a cookie holds that scripts cannot read. The token is kept nowhere in the page. */
  signIn(token: string): Promise<Problem | undefined>;
  /** Shows the sign-in screen, and forgets what was shown. */
  signOut(reason: string): void;
}

const path = "/api/v1/session";

/** The account is not known until `readSession` or `signIn` has its answer. */
export function createSession({ fetchJson, answers, openEvents, later, random }: SessionOptions): Session {
  const session = signal<SessionInfo | "signed-out" | undefined>(undefined);
  const signedOutBecause = signal("");
  const updates = signal<LiveUpdates | undefined>(undefined);
  const mayWrite = computed(() => {
    const known = session.value;
    return known !== undefined && known !== "signed-out" && known.mayWrite;
  });
  const signOut = (reason: string): void => {
    signedOutBecause.value = reason;
    session.value = "signed-out";
    updates.value?.[Symbol.dispose]();
    updates.value = undefined;
    answers.clear();
  };
  const enter = (info: SessionInfo): void => {
    signedOutBecause.value = "";
    session.value = info;
    updates.value ??= followUpdates({
      open: openEvents,
      onChange: (topic) => answers.invalidate(topic),
      onEnd: () => signOut("The session has ended. Sign in again."),
      later,
      random,
    });
  };
  return {
    ...{ session, mayWrite, signedOutBecause, updates, signOut },
    async readSession() {
      const answer = await fetchJson<SessionInfo>(path);
      if (answer.ok) enter(answer.value);
      else if (answer.problem.kind !== "signed-out") return answer.problem;
      else signOut("");
      return undefined;
    },
    async signIn(token) {
      const answer = await fetchJson<SessionInfo>(path, { method: "POST", body: { token } });
      if (!answer.ok) return answer.problem;
      enter(answer.value);
      return undefined;
    },
  };
}
