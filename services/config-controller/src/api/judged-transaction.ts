/**
 * Transactions that validate their objects. A transaction is one step of the event loop, so objects of more than 32 kB together are validated in
 * the thread, and the transaction is done again with the verdicts: it may be about another state of its objects then.
 */
import type { KubeObject } from "@flotilla/model";
import type { Problem } from "@flotilla/validation";
import { maxInlineLength, type ValidationThread } from "@flotilla/validation/aside";
import type { Draft } from "../store/durable/draft.ts";
import type { DurableStore } from "../store/durable/durable-store.ts";
import { ApiError } from "./api-error.ts";
import type { Validate } from "./manifest.ts";

export interface Judging {
  readonly durable: DurableStore;
  readonly validate: Validate;
  readonly thread: Pick<ValidationThread, "validate">;
}

/** Objects may change as often while they are validated. */
const maxRounds = 5;

/** For objects without a verdict yet. */
class Unjudged extends Error {
  override readonly name = "Unjudged";
}

/** As `DurableStore.transact`. @throws ApiError 409 where others change the same objects all the time */
export async function transactJudged<T>(
  { durable, validate, thread }: Judging,
  write: (draft: Draft, validate: Validate) => T,
  dryRun: boolean,
): Promise<T> {
  const verdicts = new Map<string, readonly Problem[]>();
  for (let round = 0; round < maxRounds; round++) {
    const unjudged = new Map<string, KubeObject>();
    let inlineLength = 0;
    const judge: Validate = (object) => {
      const json = JSON.stringify(object);
      const known = verdicts.get(json);
      if (known !== undefined) return known;
      inlineLength += json.length;
      if (inlineLength <= maxInlineLength) return validate(object);
      unjudged.set(json, object);
      return [];
    };
    const attempt = (draft: Draft): T => {
      unjudged.clear();
      inlineLength = 0;
      const { value, error } = outcomeOf(() => write(draft, judge));
      // Errors of the others are found again, with those of the large ones.
      if (unjudged.size > 0) throw new Unjudged();
      if (error !== undefined) throw error.cause;
      return value as T;
    };
    try {
      return await durable.transact(attempt, { dryRun });
    } catch (error) {
      if (!(error instanceof Unjudged)) throw error;
    }
    for (const [json, object] of unjudged) verdicts.set(json, await thread.validate({ json, object: { ...object } }));
  }
  throw new ApiError(409, "Conflict", "the objects change all the time while they are validated, try again later");
}

function outcomeOf<T>(work: () => T): { readonly value?: T; readonly error?: { readonly cause: unknown } } {
  try {
    return { value: work() };
  } catch (cause) {
    return { error: { cause } };
  }
}
