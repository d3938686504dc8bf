/**
 * A text that is being edited: the server checks it whenever the typing pauses, by a dry run, and only a text that passed is applied.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { ApplyAnswer, ApplyRequest, Cause } from "../../contract/index.ts";
import type { Answer, Problem } from "./fetch-json.ts";

/** How the present text stands. */
export type DraftState =
  | { readonly step: "unchanged" }
  | { readonly step: "checking" }
  | { readonly step: "refused"; readonly problem: Problem }
  | { readonly step: "valid"; readonly answer: ApplyAnswer }
  | { readonly step: "applying" }
  | { readonly step: "applied"; readonly answer: ApplyAnswer };

export interface Draft {
  readonly text: ReadonlySignal<string>;
  readonly state: ReadonlySignal<DraftState>;
  edit(text: string): void;
  /** Writes the text, when the check has passed. */
  apply(): Promise<void>;
}

export interface DraftOptions {
  readonly start: string;
  readonly send: (request: ApplyRequest) => Promise<Answer<ApplyAnswer>>;
  /** Runs a function after a delay, in milliseconds; cancels it. */
  readonly later: (run: () => void, ms: number) => () => void;
}

const pauseMs = 400;

/** A draft of a text that is in force, or of an empty one. */
export function createDraft({ start, send, later }: DraftOptions): Draft {
  const [text, state] = [signal(start), signal<DraftState>({ step: "unchanged" })];
  let cancel = (): void => {};
  const check = async (checked: string): Promise<void> => {
    const answer = await send({ yaml: checked, dryRun: true });
    // A later text is checked by itself.
    if (text.value !== checked || state.value.step !== "checking") return;
    state.value = answer.ok ? { step: "valid", answer: answer.value } : { step: "refused", problem: answer.problem };
  };
  return {
    text,
    state,
    edit(next) {
      cancel();
      text.value = next;
      if (next === start || next.trim() === "") {
        state.value = { step: "unchanged" };
        return;
      }
      state.value = { step: "checking" };
      cancel = later(() => void check(next), pauseMs);
    },
    async apply() {
      if (state.value.step !== "valid") return;
      state.value = { step: "applying" };
      const applied = text.value;
      const answer = await send({ yaml: applied, dryRun: false });
      if (text.value !== applied) return;
      state.value = answer.ok
        ? { step: "applied", answer: answer.value }
        : { step: "refused", problem: answer.problem };
    },
  };
}

/** Problems of a text, by line; causes without a line count for the first line of their document. */
export function causesByLine(text: string, causes: readonly Cause[]): ReadonlyMap<number, readonly Cause[]> {
  const starts = documentLines(text);
  const found = new Map<number, Cause[]>();
  for (const cause of causes) {
    const line = cause.line ?? starts[cause.item ?? 0] ?? 1;
    found.set(line, [...(found.get(line) ?? []), cause]);
  }
  return found;
}

/** The first line of each document that is not empty, from 1. */
function documentLines(text: string): readonly number[] {
  const starts: number[] = [];
  let isOpen = false;
  for (const [at, line] of text.split("\n").entries()) {
    if (/^---(\s|$)/.test(line)) isOpen = false;
    else if (!isOpen && /^[^\s#]/.test(line)) {
      starts.push(at + 1);
      isOpen = true;
    }
  }
  return starts;
}
