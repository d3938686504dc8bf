/** Signing in: services prove who a token is of; the console itself decides nothing about tokens. */
import { RequestRefused } from "../errors.ts";
import type { Services } from "../upstream/services.ts";
import type { SessionCaller } from "./sessions.ts";

interface CallerPage {
  readonly account: string;
  readonly mayWrite: boolean;
  readonly onlyNamespace?: string;
}

/** As large as a header of 16 KiB lets a token be. */
const maxTokenLength = 12_000;

/**
 * xds-server reports the part of the mesh that the caller sees, config-controller its permission to write; one answer is enough.
 * @throws RequestRefused bad-request, bad-token, away
 */
export async function callerOfToken(
  services: Services,
  body: unknown,
): Promise<{ readonly caller: SessionCaller; readonly token: string }> {
  const token = tokenIn(body);
  const [seen, writing] = await Promise.all(
    (["xds-server", "config-controller"] as const).map((service) =>
      services.first<CallerPage>(service, { path: "/debug/caller", token }),
    ),
  );
  const proven = [seen, writing].flatMap((answer) => (answer?.isAnswered ? [answer.value] : []));
  const [caller] = proven;
  if (caller === undefined) {
    const isRefused = [seen, writing].some(
      (answer) => answer?.isAnswered === false && answer.away.reason === "forbidden",
    );
    if (isRefused)
      throw new RequestRefused(
        "bad-token",
        "no service takes the token: it has ended, is of another issuer, or is for another audience",
      );
    throw new RequestRefused(
      "away",
      "neither xds-server nor config-controller answers, so the token cannot be verified",
    );
  }
  const mayWrite = writing?.isAnswered === true && writing.value.mayWrite;
  const { onlyNamespace } = seen?.isAnswered ? seen.value : caller;
  const tokenExpiresAtMs = endOf(token);
  return {
    token,
    caller: {
      ...{ account: caller.account, mayWrite },
      ...(onlyNamespace !== undefined && { onlyNamespace }),
      ...(tokenExpiresAtMs !== undefined && { tokenExpiresAtMs }),
    },
  };
}

/** @throws RequestRefused bad-request */
function tokenIn(body: unknown): string {
  const { token } = (body ?? {}) as { readonly token?: unknown };
  if (typeof token !== "string" || token.trim() === "") throw new RequestRefused("bad-request", "token is missing");
  const trimmed = token.trim();
  if (trimmed.length > maxTokenLength || !/^[\w.~+/=-]+$/.test(trimmed))
    throw new RequestRefused("bad-token", "this is no token: a token is one word, as flotilla token prints it");
  return trimmed;
}

/** Its signature was checked by a service; undefined for tokens that are no JWT. */
function endOf(token: string): number | undefined {
  const [, payload = ""] = token.split(".");
  try {
    const { exp } = JSON.parse(Buffer.from(payload, "base64url").toString()) as { readonly exp?: unknown };
    return typeof exp === "number" ? exp * 1_000 : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}
