/**
 * The answers that screens show. Each is kept by its path, so that going back shows it at once, and is fetched again when an event reports
 * that it changed, at most once in `refreshMs`. While a new answer is on its way the old one stays. One that takes longer than the time
 * between two events is waited for, and fetched once more when it is there: if each event began anew, it would never arrive.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { FetchJson, Problem } from "./fetch-json.ts";
import type { Topic } from "./live-updates.ts";

/** State of a path's answer. */
export interface Shown<T> {
  /** The last answer; kept when a later request fails. */
  readonly value: T | undefined;
  /** Why the last request failed; undefined when it did not. */
  readonly problem: Problem | undefined;
  readonly isLoading: boolean;
}

export interface AnswersOptions {
  readonly fetchJson: FetchJson;
  /** Runs a function after a delay, in milliseconds; cancels it. */
  readonly later: (run: () => void, ms: number) => () => void;
  /** Milliseconds since any fixed point. */
  readonly now: () => number;
}

export interface Answers {
  /** The signal of a path; the first reader has it fetched. Call the result of `watch` when it is no longer shown. */
  read<T>(path: string): ReadonlySignal<Shown<T>>;
  /** While it is watched, changes of its topics fetch it again; `everyMs` as well, for figures that no event announces. */
  watch(path: string, topics: readonly Topic[], everyMs?: number): () => void;
  /** Fetches what is shown of this topic; of undefined everything that is shown. The rest is fetched when it is shown again. */
  invalidate(topic: Topic | undefined): void;
  /** Forgets everything, as when another person signs in. */
  clear(): void;
}

interface Entry {
  readonly shown: ReturnType<typeof signal<Shown<unknown>>>;
  readonly watchers: Set<readonly Topic[]>;
  isStale: boolean;
  running: AbortController | undefined;
  /** Something changed since the running request began. */
  isOvertaken: boolean;
  fetchedAt: number;
  cancelRefresh: (() => void) | undefined;
}

const refreshMs = 1000;
/** A request without an answer for so long is made again when something changes: its connection may be dead. */
const givenUpMs = 60_000;
const keptPaths = 60;

/** An empty store. */
export function createAnswers(options: AnswersOptions): Answers {
  const entries = new Map<string, Entry>();
  const entryOf = (path: string): Entry => {
    const known = entries.get(path);
    if (known !== undefined) return known;
    const shown = signal<Shown<unknown>>({ value: undefined, problem: undefined, isLoading: true });
    const entry: Entry = {
      ...{ shown, watchers: new Set<readonly Topic[]>(), isStale: true },
      ...{ running: undefined, isOvertaken: false },
      ...{ fetchedAt: Number.NEGATIVE_INFINITY, cancelRefresh: undefined },
    };
    entries.set(path, entry);
    evict(entries);
    return entry;
  };
  return {
    read: <T>(path: string) => entryOf(path).shown as ReadonlySignal<Shown<T>>,
    watch(path, topics, everyMs) {
      const entry = entryOf(path);
      // Moves to the end: the most recently shown is evicted last.
      entries.delete(path);
      entries.set(path, entry);
      entry.watchers.add(topics);
      if (entry.isStale && entry.running === undefined) void load(path, entry, options);
      const endRepeats = repeat(everyMs, () => refresh(path, entry, options), options);
      return () => {
        endRepeats();
        entry.watchers.delete(topics);
        if (entry.watchers.size === 0) abandon(entry);
      };
    },
    invalidate(topic) {
      for (const [path, entry] of entries) {
        const isShown = [...entry.watchers].some((topics) => topic === undefined || topics.includes(topic));
        if (isShown) refresh(path, entry, options);
        else if (entry.watchers.size === 0) entry.isStale = true;
      }
    },
    clear() {
      for (const entry of entries.values()) abandon(entry);
      entries.clear();
    },
  };
}

/** Runs a function again and again until the result is called; never without a time. */
function repeat(everyMs: number | undefined, run: () => void, { later }: AnswersOptions): () => void {
  if (everyMs === undefined) return () => undefined;
  const next = (): (() => void) =>
    later(() => {
      run();
      cancel = next();
    }, everyMs);
  let cancel = next();
  return () => cancel();
}

/** At once, or when `refreshMs` have passed since the last time and the request that runs has ended. */
function refresh(path: string, entry: Entry, options: AnswersOptions): void {
  entry.isStale = true;
  const ageMs = options.now() - entry.fetchedAt;
  if (entry.running !== undefined && ageMs < givenUpMs) {
    entry.isOvertaken = true;
    return;
  }
  if (entry.cancelRefresh !== undefined) return;
  const run = (): void => {
    entry.cancelRefresh = undefined;
    void load(path, entry, options);
  };
  entry.cancelRefresh = options.later(run, Math.max(0, refreshMs - ageMs));
}

/** Requests once, in place of a request that runs. */
async function load(path: string, entry: Entry, options: AnswersOptions): Promise<void> {
  entry.running?.abort();
  const running = new AbortController();
  entry.running = running;
  entry.isStale = false;
  entry.isOvertaken = false;
  entry.fetchedAt = options.now();
  entry.shown.value = { value: undefined, problem: undefined, ...entry.shown.value, isLoading: true };
  try {
    const answer = await options.fetchJson<unknown>(path, { stop: running.signal });
    if (running.signal.aborted) return;
    entry.shown.value = answer.ok
      ? { value: answer.value, problem: undefined, isLoading: false }
      : { value: entry.shown.value?.value, problem: answer.problem, isLoading: false };
    if (!answer.ok) entry.isStale = true;
  } catch (error) {
    // An aborted request is not awaited.
    if (!running.signal.aborted) throw error;
  } finally {
    if (entry.running === running) entry.running = undefined;
  }
  if (entry.isOvertaken) refresh(path, entry, options);
}

/** Of a path that is no longer shown: it is fetched when it is shown again. */
function abandon(entry: Entry): void {
  entry.cancelRefresh?.();
  entry.cancelRefresh = undefined;
  if (entry.running === undefined) return;
  entry.running.abort();
  entry.running = undefined;
  entry.isStale = true;
  entry.isOvertaken = false;
}

function evict(entries: Map<string, Entry>): void {
  for (const [path, { watchers }] of entries) {
    if (entries.size <= keptPaths) return;
    if (watchers.size === 0) entries.delete(path);
  }
}
