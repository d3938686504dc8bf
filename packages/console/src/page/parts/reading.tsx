/** Reading of answers by screens: fetches an answer while it is shown, and shows loading, failure and services that are away. */

import type { ComponentChildren, VNode } from "preact";
import { useEffect } from "preact/hooks";
import type { AwayService, Endpoints, Partially } from "../../contract/index.ts";
import type { Shown } from "../state/answers.ts";
import { answers, signOut } from "../state/browser.ts";
import type { Problem } from "../state/fetch-json.ts";
import type { Topic } from "../state/live-updates.ts";
import { type PathNames, type ReadEndpoint, requestPath } from "../state/requests.ts";

/** Parameters of a request to an endpoint. */
export interface Reading<E extends ReadEndpoint> {
  readonly names?: PathNames;
  readonly query?: { readonly [K in keyof Endpoints[E]["query"]]?: Endpoints[E]["query"][K] | undefined };
  /** Events after which the answer is fetched again. */
  readonly topics?: readonly Topic[];
  /** Milliseconds after which it is fetched again all the same, for figures that no event announces. */
  readonly everyMs?: number;
}

/** The console reads the metrics of the services at this interval. */
export const metricsEveryMs = 15_000;

const everything: readonly Topic[] = ["generation", "rejections", "services", "fleet", "objects"];

/** The answer of an endpoint, renewed while the component is shown. */
export function useAnswer<E extends ReadEndpoint>(
  endpoint: E,
  { names, query, topics = everything, everyMs }: Reading<E> = {},
): Shown<Endpoints[E]["answer"]> {
  const path = requestPath(endpoint, names, query as Partial<Endpoints[E]["query"]>);
  const topicText = topics.join();
  useEffect(() => answers.watch(path, topics, everyMs), [path, topicText, everyMs]);
  const shown = answers.read<Endpoints[E]["answer"]>(path).value;
  const isSignedOut = shown.problem?.kind === "signed-out";
  useEffect(() => {
    if (isSignedOut) signOut("The session has ended. Sign in again.");
  }, [isSignedOut]);
  return shown;
}

interface AnsweredProps<T> {
  readonly shown: Shown<T>;
  /** Of what is loaded, for a message: `proxies`. */
  readonly what: string;
  readonly children: (value: T) => ComponentChildren;
}

/** The content of an answer, or why there is none. An old answer stays visible while a new one is loaded or fails. */
export function Answered<T>({ shown: { value, problem, isLoading }, what, children }: AnsweredProps<T>): VNode {
  if (value === undefined)
    return problem === undefined ? <Loading what={what} /> : <Failure problem={problem} what={what} />;
  return (
    <div class={isLoading ? "answered loading" : "answered"} aria-busy={isLoading}>
      {problem !== undefined && <Failure problem={problem} what={what} isOld />}
      {isPartial(value) && <AwayNotice away={value.away} />}
      {children(value)}
    </div>
  );
}

function Loading({ what }: { readonly what: string }): VNode {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">Loading {what}</span>
      <i class="bar" />
      <i class="bar" />
      <i class="bar" />
    </div>
  );
}

interface FailureProps {
  readonly problem: Problem;
  readonly what: string;
  readonly isOld?: boolean;
}

const titles: Readonly<Record<Problem["kind"], string>> = {
  "signed-out": "Signed out",
  away: "Control plane unreachable",
  missing: "Not found",
  refused: "Refused",
  failed: "Failed",
};

const retryMs = 4000;

/** Fetches what is shown again and again while services are away: nothing may come as an event when they are back. */
function useRetry(isNeeded: boolean): void {
  useEffect(() => {
    if (!isNeeded) return undefined;
    const timer = setInterval(() => answers.invalidate(undefined), retryMs);
    return () => clearInterval(timer);
  }, [isNeeded]);
}

/** A failed request; `isOld`: what was known before stays below. */
export function Failure({ problem: { kind, message }, what, isOld = false }: FailureProps): VNode {
  useRetry(kind === "away");
  return (
    <div class={kind === "away" ? "notice warn" : "notice bad"} role="alert">
      <strong>{titles[kind]}</strong>
      <span>
        {message === "" ? `No answer about ${what}.` : message}
        {isOld && " The last known state is shown."}
        {kind === "away" && " The page tries again by itself."}
      </span>
      <button type="button" onClick={() => answers.invalidate(undefined)}>
        Try again
      </button>
    </div>
  );
}

/** Names the services that had no part in an answer. */
function AwayNotice({ away }: { readonly away: readonly AwayService[] }): VNode | null {
  // The other reasons stay as long as the session.
  useRetry(away.some(({ reason }) => reason === "unreachable" || reason === "timeout" || reason === "failed"));
  if (away.length === 0) return null;
  return (
    <div class="notice warn" role="status">
      <strong>Incomplete</strong>
      <span>
        {away.map(({ service, replica, message }) => (
          <span key={`${service} ${replica}`} class="line">
            <b>{replica ?? service}</b> {message}
          </span>
        ))}
      </span>
    </div>
  );
}

function isPartial(value: unknown): value is Partially {
  return typeof value === "object" && value !== null && "away" in value && Array.isArray(value.away);
}

/** A list without rows, and what to do about it. */
export function Empty({ children }: { readonly children: ComponentChildren }): VNode {
  return <p class="empty">{children}</p>;
}
