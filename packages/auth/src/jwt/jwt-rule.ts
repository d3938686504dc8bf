/** JWT_RULE: which issuer's tokens prove an identity, as JSON. */
import { AuthError } from "../errors.ts";

/** An issuer whose tokens are accepted: its keys come from `jwksUri` or from `jwksFile`. */
export interface JwtRule {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly jwksUri?: string;
  readonly jwksFile?: string;
}

/** The audience that tokens for the control plane have. */
export const defaultAudience = "istio-ca";

/** Keys in the spelling of the mesh API (`jwks_uri`) or of its JSON (`jwksUri`). @throws AuthError AUTH_BAD_RULE */
export function parseJwtRule(text: string): JwtRule {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AuthError("AUTH_BAD_RULE", "the JWT rule is not JSON");
  }
  if (typeof value !== "object" || value === null)
    throw new AuthError("AUTH_BAD_RULE", "the JWT rule is not an object");
  const rule = value as Readonly<Record<string, unknown>>;
  const { issuer, audiences = [defaultAudience] } = rule;
  if (typeof issuer !== "string" || issuer === "")
    throw new AuthError("AUTH_BAD_RULE", "issuer is missing in the JWT rule");
  if (!isTextList(audiences)) throw new AuthError("AUTH_BAD_RULE", "audiences of the JWT rule is not a list of texts");
  const jwksUri = text1(rule["jwksUri"] ?? rule["jwks_uri"], "jwksUri");
  const jwksFile = text1(rule["jwksFile"] ?? rule["jwks_file"], "jwksFile");
  return { issuer, audiences, ...(jwksUri !== undefined && { jwksUri }), ...(jwksFile !== undefined && { jwksFile }) };
}

function text1(value: unknown, field: string): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw new AuthError("AUTH_BAD_RULE", `${field} of the JWT rule is not a text`);
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
