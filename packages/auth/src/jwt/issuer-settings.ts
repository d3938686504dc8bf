/** The settings by which ca and xds-server know whose tokens prove an identity. */
import { flag, list, type SettingsOf, text } from "@flotilla/runtime";
import { localIssuerRule } from "../local-issuer.ts";
import { defaultAudience, type JwtRule, parseJwtRule } from "./jwt-rule.ts";

export const issuerSettings = {
  jwtRule: text({
    env: "JWT_RULE",
    default: undefined,
    sentence: "Issuer whose tokens prove an identity, as JSON: issuer, jwks_uri or jwks_file, audiences.",
  }),
  localIssuer: flag({
    env: "LOCAL_ISSUER",
    default: true,
    sentence: "Tokens of the issuer in WORK_DIR prove an identity.",
  }),
  audiences: list({
    env: "TOKEN_AUDIENCES",
    default: [defaultAudience],
    sentence: "Audiences of tokens for the control plane.",
  }),
} as const;

export interface IssuerSettings extends SettingsOf<typeof issuerSettings> {
  readonly workDir: string;
}

/** @throws AuthError AUTH_BAD_RULE */
export function jwtRulesOf({ jwtRule, localIssuer, audiences, workDir }: IssuerSettings): readonly JwtRule[] {
  return [
    ...(jwtRule === undefined ? [] : [parseJwtRule(jwtRule)]),
    ...(localIssuer ? [localIssuerRule(workDir, audiences)] : []),
  ];
}
