/** Conditions of the Gateway API's objects, but for their time and generation, which are the writer's. */

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** Why a condition is not as it should be, in the specification's words. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
}

export const gatewayController = "istio.io/gateway-controller";
export const meshController = "istio.io/mesh-controller";

/** Holds unless there is a problem. */
export function condition(type: string, good: Problem, problem?: Problem): Condition {
  return problem === undefined ? { type, status: "True", ...good } : { type, status: "False", ...problem };
}

/** `a`, `a and b`, `a, b, and c`. */
export function enumerated(texts: readonly string[]): string {
  if (texts.length < 3) return texts.join(" and ");
  return `${texts.slice(0, -1).join(", ")}, and ${texts.at(-1)}`;
}

interface Entry {
  readonly controllerName: string;
}

const ownControllers: ReadonlySet<string> = new Set([gatewayController, meshController]);

/** Entries of a status that several controllers write: those of others stay as they are, then come ours. */
export function withForeignEntries<Own extends Entry>(
  before: readonly Entry[] = [],
  ours: readonly Own[],
): readonly Entry[] {
  return [...before.filter(({ controllerName }) => !ownControllers.has(controllerName)), ...ours];
}
