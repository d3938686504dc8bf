/** The token in the `authorization` header. */
import type { Caller } from "./authenticator.ts";

/** Larger ones are not looked at: a projected token has about one kilobyte. */
const maxTokenLength = 16_384;

/** Other schemes may stand beside it; the first bearer token counts. */
export function bearerToken({ metadata }: Caller): string | undefined {
  for (const value of metadata.get("authorization") ?? []) {
    const token = /^Bearer (\S+)$/.exec(value)?.[1];
    if (token !== undefined && token.length <= maxTokenLength) return token;
  }
  return undefined;
}

/** Does a token name an audience that is expected? */
export function isForAudience(audiences: readonly string[], expected: readonly string[]): boolean {
  return audiences.some((audience) => expected.includes(audience));
}
