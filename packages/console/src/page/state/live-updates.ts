/**
 * Server-sent events: which parts of the mesh changed. A lost stream is opened again, with back-off. Each stream begins with `hello`. No change after
 * it is missed; everything read before it is read again.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { ConsoleEvents } from "../../contract/index.ts";

/** The part of an EventSource that is used. */
export interface EventStream {
  addEventListener(type: string, listener: () => void): void;
  close(): void;
}

export interface LiveOptions {
  readonly open: () => EventStream;
  /** Called with the topic that changed; undefined when anything may have, as before the stream and after a gap. */
  readonly onChange: (topic: Topic | undefined) => void;
  /** Called when the session has ended: the stream does not come back. */
  readonly onEnd: () => void;
  /** Runs a function after a delay, in milliseconds; cancels it. */
  readonly later: (run: () => void, ms: number) => () => void;
  readonly random: () => number;
}

/** Reasons to fetch screens again: types of events that change them. */
export type Topic = (typeof topics)[number];

export type LiveState = "connecting" | "live" | "lost";

export interface LiveUpdates extends Disposable {
  readonly state: ReadonlySignal<LiveState>;
}

const topics = ["generation", "rejections", "services", "fleet", "objects"] as const satisfies (keyof ConsoleEvents)[];
const firstWaitMs = 500;
const longestWaitMs = 15_000;

/** Opens the stream and keeps it open until it is disposed. */
export function followUpdates({ open, onChange, onEnd, later, random }: LiveOptions): LiveUpdates {
  const state = signal<LiveState>("connecting");
  let failures = 0;
  let stream: EventStream | undefined;
  let cancelWait = (): void => {};
  const connect = (): void => {
    const opened = open();
    stream = opened;
    opened.addEventListener("open", () => {
      failures = 0;
      state.value = "live";
    });
    for (const topic of topics) opened.addEventListener(topic, () => onChange(topic));
    for (const type of ["hello", "resync"]) opened.addEventListener(type, () => onChange(undefined));
    opened.addEventListener("session-ended", () => {
      stream = undefined;
      opened.close();
      onEnd();
    });
    opened.addEventListener("error", () => {
      if (opened !== stream) return;
      opened.close();
      stream = undefined;
      state.value = "lost";
      cancelWait = later(connect, backOff(failures++, random()));
    });
  };
  connect();
  return {
    state,
    [Symbol.dispose]: () => {
      cancelWait();
      const closing = stream;
      stream = undefined;
      closing?.close();
    },
  };
}

/** Milliseconds to wait after so many failures in a row: twice as long each time, ±25 %. */
export function backOff(failures: number, random: number): number {
  return Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures, 10)) * (0.75 + random / 2);
}
