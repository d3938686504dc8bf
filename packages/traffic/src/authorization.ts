/** Decides what a filter of Envoy's RBAC makes of a request or a connection, by the policies in its configuration. */
import { quoteRegex, rangeBits } from "@flotilla/model";
import type { JsonObject, JsonValue } from "@flotilla/proto";
import { at, objectsAt, textAt } from "./json.ts";
import { type Doubt, every, isDoubt, type Judgement, not, some } from "./judgement.ts";
import { type Metadata, matchesExpression, matchesMetadata, matchesNamed, matchesText } from "./text-match.ts";

/** Attributes of a call that policies ask about. */
export interface Subject {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly host: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly address: string;
  readonly port: number;
  readonly sni: string;
  /** SPIFFE URI of the caller's certificate; undefined without a certificate. */
  readonly peer: string | undefined | Doubt;
  readonly sourceIp: string | Doubt;
  readonly metadata: Metadata;
}

export interface AuthorizationVerdict {
  readonly passes: Judgement;
  readonly action: string;
  /** Names of the policies that decide, or may. */
  readonly policies: readonly string[];
}

/** `rules`: `envoy.config.rbac.v3.RBAC`. */
export function judgeRules(rules: JsonValue | undefined, subject: Subject): AuthorizationVerdict {
  const action = textAt(rules, "action") || "ALLOW";
  const judged = policiesOf(rules).map(([name, policy]) => ({ name, matches: matchesPolicy(policy, subject) }));
  const matches = some(judged.map((one) => one.matches));
  const names = judged.filter((one) => one.matches === true || (isDoubt(matches) && isDoubt(one.matches)));
  const policies = names.map(({ name }) => name);
  if (action === "LOG") return { passes: true, action, policies };
  return { passes: action === "DENY" ? not(matches) : matches, action, policies };
}

/** Policies of a filter's rules, in the order of their names, which is Envoy's. */
export function policiesOf(rules: JsonValue | undefined): readonly (readonly [string, JsonValue])[] {
  const policies = at(rules, "policies");
  if (typeof policies !== "object" || policies === null || Array.isArray(policies)) return [];
  return Object.entries(policies).sort(([a], [b]) => (a < b ? -1 : 1));
}

function matchesPolicy(policy: JsonValue, subject: Subject): Judgement {
  if (at(policy, "condition") !== undefined || at(policy, "checkedCondition") !== undefined)
    return { doubt: "a condition in CEL" };
  return every([
    some(objectsAt(policy, "permissions").map((one) => matchesPart(one, subject))),
    some(objectsAt(policy, "principals").map((one) => matchesPart(one, subject))),
  ]);
}

/** A permission or a principal: they share most of their forms. */
function matchesPart(part: JsonObject, subject: Subject): Judgement {
  for (const [form, judge] of forms) {
    const value = at(part, form);
    if (value !== undefined) return judge(value, subject);
  }
  return { doubt: `a condition of the form ${Object.keys(part).join(", ")}` };
}

type Judge = (value: JsonValue, subject: Subject) => Judgement;

const forms: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  ["any", () => true],
  ["andRules", (value, subject) => every(objectsAt(value, "rules").map((one) => matchesPart(one, subject)))],
  ["orRules", (value, subject) => some(objectsAt(value, "rules").map((one) => matchesPart(one, subject)))],
  ["notRule", (value, subject) => not(matchesPart(value as JsonObject, subject))],
  ["andIds", (value, subject) => every(objectsAt(value, "ids").map((one) => matchesPart(one, subject)))],
  ["orIds", (value, subject) => some(objectsAt(value, "ids").map((one) => matchesPart(one, subject)))],
  ["notId", (value, subject) => not(matchesPart(value as JsonObject, subject))],
  ["header", (value, subject) => matchesHeader(value as JsonObject, subject)],
  ["urlPath", (value, { path }) => matchesText(at(value, "path"), path.replace(/[?#].*/, ""))],
  ["uriTemplate", (value, { path }) => matchesTemplate(textAt(value, "typedConfig", "pathTemplate"), path)],
  ["destinationPort", (value, { port }) => Number(value) === port],
  ["destinationPortRange", (value, { port }) => port >= numberAt(value, "start") && port < numberAt(value, "end")],
  ["destinationIp", (value, { address }) => isWithin(address, value)],
  ["requestedServerName", (value, { sni }) => matchesText(value, sni)],
  ["authenticated", (value, { peer }) => matchesPeer(at(value, "principalName"), peer)],
  ["directRemoteIp", (value, { sourceIp }) => (isText(sourceIp) ? isWithin(sourceIp, value) : sourceIp)],
  ["sourceIp", (value, { sourceIp }) => (isText(sourceIp) ? isWithin(sourceIp, value) : sourceIp)],
  ["remoteIp", matchesRemote],
  ["metadata", (value, { metadata }) => matchesMetadata(value, metadata)],
]);

/** `*` stands for one segment of a path, `**` for any number of them. */
function matchesTemplate(template: string, path: string): Judgement {
  const characters = "a-zA-Z0-9._~%!$&'()+,;:@=-";
  const expression = quoteRegex(template)
    .replaceAll("\\*\\*", `[${characters}/]*`)
    .replaceAll("\\*", `[${characters}]+`);
  return matchesExpression(expression, path.replace(/[?#].*/, ""));
}

function numberAt(value: JsonValue, key: string): number {
  return Number(textAt(value, key) || "0");
}

function isText(value: string | Doubt): value is string {
  return typeof value === "string";
}

function matchesHeader(matcher: JsonObject, { headers, method, path, host }: Subject): Judgement {
  const name = textAt(matcher, "name").toLowerCase();
  const own = new Map([
    [":method", method],
    [":path", path],
    [":authority", host],
    ["host", host],
  ]);
  return matchesNamed(matcher, own.get(name) ?? headers.get(name));
}

function matchesPeer(matcher: JsonValue | undefined, peer: Subject["peer"]): Judgement {
  if (peer === undefined) return false;
  if (!isText(peer)) return matcher === undefined || peer;
  return matcher === undefined || matchesText(matcher, peer);
}

/** Proxies before this one may have named another address in the header. */
function matchesRemote(value: JsonValue, { headers, sourceIp }: Subject): Judgement {
  if (headers.has("x-forwarded-for")) return { doubt: "the address in x-forwarded-for" };
  return isText(sourceIp) ? isWithin(sourceIp, value) : sourceIp;
}

function isWithin(address: string, range: JsonValue): boolean {
  const bits = rangeBits(address);
  const wanted = rangeBits(`${textAt(range, "addressPrefix")}/${textAt(range, "prefixLen") || "0"}`);
  return bits !== undefined && wanted !== undefined && bits.startsWith(wanted);
}

/** `ns[shop]-policy[web]-rule[0]` → `AuthorizationPolicy/shop/web`; undefined for other names. */
export function policyObject(name: string): string | undefined {
  const found = /(?:^|-)ns\[([^[\]]*)\]-policy\[([^[\]]*)\]/.exec(name);
  return found === null ? undefined : `AuthorizationPolicy/${found[1]}/${found[2]}`;
}
