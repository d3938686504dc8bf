/** Authorization of the API: service accounts that are named in the settings, proven by a token meant for this API. */
import type { Authenticator, Caller } from "@flotilla/auth";
import type { Logger } from "@flotilla/runtime";
import { ApiError } from "./api-error.ts";

export interface AccessOptions {
  readonly authenticator: Authenticator;
  /** `namespace/serviceAccount`; they may read too. */
  readonly writers: readonly string[];
  readonly readers: readonly string[];
  readonly log: Logger;
}

export type Access = (
  caller: Caller,
  wanted: { readonly write: boolean; readonly secrets: boolean },
) => Promise<string>;

/** Gives the caller's name. @throws ApiError 401, 403 */
export function createAccess({ authenticator, writers, readers, log }: AccessOptions): Access {
  return async (caller, { write, secrets }) => {
    const verdict = await authenticator.authenticate(caller);
    if (!verdict.authenticated) {
      log.info("caller unknown", { remoteAddress: caller.remoteAddress, reason: verdict.reason });
      throw new ApiError(401, "Unauthorized", "Unauthorized");
    }
    const account = verdict.kubernetes;
    const name = account === undefined ? "" : `${account.namespace}/${account.serviceAccount}`;
    if (writers.includes(name)) return name;
    if (!write && !secrets && readers.includes(name)) return name;
    const what = write ? "write" : secrets ? "read Secrets" : "read";
    log.warn("caller refused", { account: name, wanted: what });
    throw new ApiError(403, "Forbidden", `${name || "the caller"} may not ${what} here`);
  };
}
