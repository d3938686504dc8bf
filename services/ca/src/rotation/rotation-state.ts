/**
 * The replacement of the root as a machine of five states. Each step waits for evidence, not for a timer:
 *
 *   idle ─rotate─► trusting ──all trust the new root──► issuing ──no certificate of the old one is left──► finishing ─► idle
 *                     │ abort                              │ abort
 *                     ▼                                    ▼
 *                   idle ◄──no certificate of the new one is left── reverting
 *
 * Pure: the holdups, the time and the operator's request come in, the next state comes out.
 */
import { listOf, number, objectOf, oneOfTexts, parseShape, text } from "@flotilla/model";
import { CaError } from "../errors.ts";

export type Phase = "idle" | "trusting" | "issuing" | "reverting" | "finishing";

/** Ids of the roots that are replaced and that come (see rootId). */
export interface Roots {
  readonly old: string;
  readonly next: string;
  /** Plugged-in material is put into use by the operator, not by us. */
  readonly origin: "self-signed" | "plugged-in";
}

export interface RotationState {
  readonly phase: Phase;
  /** Names the rotation; empty before the first one. */
  readonly id: string;
  readonly phaseSinceMs: number;
  /** Since when nothing holds the phase up; absent while something does. */
  readonly clearSinceMs?: number;
  /** Absent when idle. */
  readonly roots?: Roots;
  /** Names of holders that the operator does not want to wait for. */
  readonly without: readonly string[];
  readonly last?: {
    readonly id: string;
    readonly outcome: "rotated" | "aborted";
    readonly atMs: number;
    /** Id of the root that was to come and was given up. */
    readonly abandoned?: string;
  };
  /** Grows with each change that is stored, over all rotations; absent in states of a version that did not count. */
  readonly serial?: number;
}

export const idle: RotationState = { phase: "idle", id: "", phaseSinceMs: 0, without: [] };

export interface RotationRequest {
  readonly id: string;
  readonly roots: Roots;
  readonly without: readonly string[];
  readonly nowMs: number;
}

/** Begins a rotation; while one runs, only adds to those it does not wait for. @throws CaError CA_ROTATION */
export function rotate(state: RotationState, { id, roots, without, nowMs }: RotationRequest): RotationState {
  if (state.phase !== "idle") return { ...state, without: [...new Set([...state.without, ...without])].sort() };
  if (roots.old === roots.next) throw new CaError("CA_ROTATION", "the next signing material leads to the root in use");
  return { ...enter(state, "trusting", nowMs), id, roots, without: [...without].sort() };
}

/** @throws CaError CA_ROTATION when there is nothing to go back from, or no way back. */
export function abort(state: RotationState, nowMs: number): RotationState {
  switch (state.phase) {
    case "idle":
      throw new CaError("CA_ROTATION", "no rotation is running");
    case "trusting":
      return end(state, "aborted", nowMs);
    case "issuing":
      return enter(state, "reverting", nowMs);
    case "reverting":
      return state;
    case "finishing":
      throw new CaError("CA_ROTATION", "the old root is given up already: rotate again to go back");
  }
}

export interface TransitionInput {
  /** Something still holds the phase up. */
  readonly isHeldUp: boolean;
  readonly nowMs: number;
  /** For so long nothing may hold a phase up before the next one begins, so that issued certificates have arrived. */
  readonly settleMs: number;
}

/** The next state; the same object when nothing changes. */
export function step(state: RotationState, { isHeldUp, nowMs, settleMs }: TransitionInput): RotationState {
  if (state.phase === "idle") return state;
  const { clearSinceMs, ...held } = state;
  if (isHeldUp) return clearSinceMs === undefined ? state : held;
  if (clearSinceMs === undefined) return { ...state, clearSinceMs: nowMs };
  // Finishing waits for no clock: the old root is not in use any more.
  if (state.phase !== "finishing" && nowMs - clearSinceMs < settleMs) return state;
  switch (state.phase) {
    case "trusting":
      return enter(state, "issuing", nowMs);
    case "issuing":
      return enter(state, "finishing", nowMs);
    case "reverting":
      return end(state, "aborted", nowMs);
    case "finishing":
      return end(state, "rotated", nowMs);
  }
}

function enter({ clearSinceMs: _, ...state }: RotationState, phase: Phase, nowMs: number): RotationState {
  return { ...state, phase, phaseSinceMs: nowMs };
}

function end({ id, roots }: RotationState, outcome: "rotated" | "aborted", nowMs: number): RotationState {
  const abandoned = outcome === "aborted" && roots !== undefined ? { abandoned: roots.next } : {};
  return { ...idle, id, phaseSinceMs: nowMs, last: { id, outcome, atMs: nowMs, ...abandoned } };
}

const roots = objectOf({ old: text, next: text, origin: oneOfTexts("self-signed", "plugged-in") });
const stateShape = objectOf(
  {
    phase: oneOfTexts("idle", "trusting", "issuing", "reverting", "finishing"),
    id: text,
    phaseSinceMs: number,
    without: listOf(text),
  },
  {
    clearSinceMs: number,
    serial: number,
    roots,
    last: objectOf({ id: text, outcome: oneOfTexts("rotated", "aborted"), atMs: number }, { abandoned: text }),
  },
);

/** @throws CaError CA_ROTATION when the text is not a state. */
export function parseState(json: string): RotationState {
  try {
    const state = parseShape<RotationState>(json, stateShape);
    if (state.phase === "idle" || state.roots !== undefined) return state;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CaError("CA_ROTATION", `the state of the rotation cannot be read: ${reason}`, { cause });
  }
  throw new CaError("CA_ROTATION", `no state of a rotation: it has no roots`);
}
