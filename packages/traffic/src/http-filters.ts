/** The filters of a connection and of its requests, in their order: who is admitted, and what cannot be judged here. */
import type { JsonObject } from "@flotilla/proto";
import { type AuthorizationVerdict, judgeRules, policiesOf, policyObject, type Subject } from "./authorization.ts";
import type { Hop, Verdict } from "./hop.ts";
import { at, objectsAt, textAt } from "./json.ts";
import { isDoubt, type Judgement } from "./judgement.ts";
import { isTokenFilter, judgeToken } from "./tokens.ts";

/** Inputs of filters: the call, its token, its route. */
export interface FilterInputs {
  readonly subject: Subject;
  readonly claims: JsonObject | undefined;
  /** The route that was selected, which may override filters. */
  readonly route: JsonObject | undefined;
}

/** Types of filters that let every call through, or whose effect is shown with the route. */
const transparent =
  /(?:router\.v3\.Router|cors\.v3\.Cors|grpc_stats\.v3\.FilterConfig|fault\.v3\.HTTPFault|alpn\.v2alpha1\.FilterConfig|stats\.PluginConfig|peer_metadata\.Config|set_filter_state\.v3\.Config|grpc_web\.v3\.GrpcWeb|compressor\.v3\.Compressor|metadataexchange\.config\.MetadataExchange|http_connection_manager\.v3\.HttpConnectionManager|tcp_proxy\.v3\.TcpProxy|HttpPeerMetadataConfig|mysql_proxy\.v3\.MySQLProxy|mongo_proxy\.v3\.MongoProxy|network\.set_filter_state\.v3\.Config)$/;

const reasons: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/\.wasm\./i, "A Wasm module decides while requests pass."],
  [/\.lua\./i, "A Lua script decides while requests pass."],
  [/\.ext_proc\./, "An external processor decides while requests pass."],
  [/ratelimit/i, "It depends on how many requests came before."],
  [/\.oauth2\./, "It depends on the session of the caller."],
  [/sni_cluster/, "The name in the caller's TLS selects the cluster."],
];

/** The hops of filters that may stop a call; others have none. */
export function filterHops(filters: readonly JsonObject[], inputs: FilterInputs): readonly Hop[] {
  return filters
    .filter((filter) => filter["disabled"] !== true)
    .flatMap((filter) => {
      const hop = hopOf(filter, filters, inputs);
      return hop === undefined ? [] : [hop];
    });
}

function hopOf(filter: JsonObject, all: readonly JsonObject[], inputs: FilterInputs): Hop | undefined {
  const type = typeOf(filter);
  const name = textAt(filter, "name");
  if (transparent.test(type)) return undefined;
  const own = at(inputs.route, "typedPerFilterConfig", name);
  if (own !== undefined) return unjudged(name, "The route overrides what this filter does.");
  if (/\.rbac\.v3\.RBAC$/.test(type)) return authorizationHop(filter, inputs.subject);
  if (isTokenFilter(filter)) return tokenHop(filter, inputs);
  if (/\.ext_authz\.v3\.ExtAuthz$/.test(type)) return externalHop(filter, all, inputs.subject);
  const reason = reasons.find(([pattern]) => pattern.test(`${type} ${name}`))?.[1];
  return unjudged(name, reason ?? "The effect of this filter is not evaluated.");
}

/** Structs of unknown messages carry the type within; filters sent by ECDS name it beside. */
function typeOf(filter: JsonObject): string {
  const discovered = at(filter, "configDiscovery", "typeUrls");
  if (Array.isArray(discovered)) return discovered.join(" ");
  const type = textAt(filter, "typedConfig", "@type");
  return type.endsWith("TypedStruct") ? textAt(filter, "typedConfig", "typeUrl") : type;
}

function unjudged(name: string, reason: string): Hop {
  return { kind: "filter", name, verdict: "unknown", facts: [reason], objects: [] };
}

function verdictOf(passes: Judgement): Verdict {
  return isDoubt(passes) ? "unknown" : passes ? "passes" : "stops";
}

/** Undefined for filters that only mark requests for an authorizer after them. */
function authorizationHop(filter: JsonObject, subject: Subject): Hop | undefined {
  const config = at(filter, "typedConfig");
  const name = textAt(filter, "name");
  if (at(config, "matcher") !== undefined) return unjudged(name, "Its rules are a tree of matchers.");
  const [rules, shadow] = [at(config, "rules"), at(config, "shadowRules")];
  if (rules === undefined) {
    if (textAt(config, "shadowRulesStatPrefix").includes("ext_authz")) return undefined;
    const dry = judgeRules(shadow, subject);
    const what = verdictOf(dry.passes) === "stops" ? "would refuse" : "would admit";
    const facts =
      shadow === undefined ? ["It has no rules."] : [`A dry run ${what} this call: ${reasonOf(dry, shadow)}`];
    return {
      kind: "authorization",
      name,
      verdict: "passes",
      facts,
      objects: objectsOf(policiesOf(shadow).map(([one]) => one)),
    };
  }
  const judged = judgeRules(rules, subject);
  const all = policiesOf(rules).map(([one]) => one);
  const facts = [reasonOf(judged, rules), ...dryFacts(shadow, subject)];
  const objects = objectsOf(judged.policies.length > 0 ? judged.policies : all);
  return {
    kind: "authorization",
    name: `${judged.action} policies`,
    verdict: verdictOf(judged.passes),
    facts,
    objects,
  };
}

function dryFacts(shadow: ReturnType<typeof at>, subject: Subject): readonly string[] {
  if (shadow === undefined) return [];
  const dry = judgeRules(shadow, subject);
  return [`Dry run: ${reasonOf(dry, shadow)}`];
}

function reasonOf({ passes, action, policies }: AuthorizationVerdict, rules: ReturnType<typeof at>): string {
  const named = policies.join(", ");
  if (isDoubt(passes)) return `It depends on ${passes.doubt} (${named}).`;
  if (action === "DENY") return passes ? "No DENY policy matches." : `Refused by the DENY policy ${named}.`;
  if (action === "LOG") return named === "" ? "No AUDIT policy matches." : `Audited by ${named}.`;
  if (passes) return `Admitted by ${named}.`;
  const all = policiesOf(rules).map(([name]) => name);
  return all.length === 0 ? "No policy admits anything." : `No ALLOW policy matches: ${all.join(", ")}.`;
}

function objectsOf(policies: readonly string[]): readonly string[] {
  return [...new Set(policies.flatMap((name) => policyObject(name) ?? []))];
}

function tokenHop(filter: JsonObject, { subject, claims }: FilterInputs): Hop {
  const { passes, reason } = judgeToken(filter, subject.path.replace(/[?#].*/, ""), claims);
  return { kind: "token", name: "tokens of requests", verdict: verdictOf(passes), facts: [reason], objects: [] };
}

/** An authorizer is asked about the calls that a filter before it has marked with its provider's name. */
function externalHop(filter: JsonObject, all: readonly JsonObject[], subject: Subject): Hop {
  const name = textAt(filter, "name");
  const enabled = at(filter, "typedConfig", "filterEnabledMetadata");
  if (enabled === undefined) return unjudged(name, "An external authorizer is asked about every call.");
  const prefix = textAt(enabled, "value", "stringMatch", "prefix");
  const provider = prefix.replace(/^istio-ext-authz-/, "");
  const marks = all
    .filter((one) => textAt(one, "typedConfig", "shadowRulesStatPrefix").includes("ext_authz"))
    .map((one) => judgeRules(at(one, "typedConfig", "shadowRules"), subject));
  // A mark is set by a policy that matches, whatever its action.
  const policies = marks.flatMap((mark) => mark.policies.filter((one) => one.startsWith(prefix)));
  const shown = policies.map((one) => one.replace(`${prefix}-`, ""));
  const [verdict, fact]: readonly [Verdict, string] =
    policies.length === 0
      ? ["passes", `The external authorizer ${provider} is not asked: no CUSTOM policy selects this call.`]
      : ["unknown", `The external authorizer ${provider} decides, as ${shown.join(", ")} has it.`];
  return { kind: "authorization", name, verdict, facts: [fact], objects: objectsOf(policies) };
}

/** HTTP filters of a connection manager. */
export function httpFiltersOf(manager: JsonObject): readonly JsonObject[] {
  return objectsAt(manager, "typedConfig", "httpFilters");
}
