/**
 * AuthorizationPolicies: who may do what. A port that is no number makes Envoy refuse all that a workload listens on, and a
 * path template that it cannot read ends its process.
 */
import type { Problem } from "../problem.ts";
import { conditionProblems, serviceAccountProblems, trustDomainProblems } from "./authorization-conditions.ts";
import { type Field, field, isSet, items, refuseIf, textOf, texts, warnIf } from "./shared/field.ts";
import { quoted } from "./shared/names.ts";
import { targetProblems } from "./shared/selectors.ts";
import { portTextProblems, rangeProblems } from "./shared/values.ts";

export function validateAuthorizationPolicy(spec: Field): readonly Problem[] {
  const action = textOf(field(spec, "action")) || "ALLOW";
  const rules = items(spec, "rules");
  return [
    ...targetProblems(spec),
    ...actionProblems(spec, action),
    ...rules.flatMap((rule) => [
      ...presenceProblems(rule),
      ...items(rule, "from").flatMap(sourceProblems),
      ...items(rule, "to").flatMap(operationProblems),
      ...items(rule, "when").flatMap(conditionProblems),
      ...(action === "CUSTOM" ? customRuleProblems(rule) : []),
      ...warnIf(
        action === "DENY" && !namesConnections(rule),
        rule,
        "denies all TCP traffic too, since it names attributes of HTTP only: name ports as well",
      ),
    ]),
  ];
}

function actionProblems(spec: Field, action: string): readonly Problem[] {
  const rules = field(spec, "rules");
  const provider = field(spec, "provider");
  const name = field(provider, "name");
  const isCustom = action === "CUSTOM";
  const hasRules = items(spec, "rules").length > 0;
  const reason = `is required for action ${action}: write - {} for every request`;
  return [
    ...refuseIf((isCustom || action === "DENY") && !hasRules, rules, reason),
    ...refuseIf(isCustom && hasRules && textOf(name) === "", name, "is required for action CUSTOM"),
    ...refuseIf(!isCustom && isSet(provider), provider, `is for action CUSTOM, not for ${action}`),
  ];
}

function presenceProblems(rule: Field): readonly Problem[] {
  return ["from", "to"].flatMap((name) => {
    const list = field(rule, name);
    return warnIf(Array.isArray(list.value) && list.value.length === 0, list, "is empty and restricts nothing");
  });
}

const sourceNames = [
  "principals",
  "requestPrincipals",
  "namespaces",
  "ipBlocks",
  "remoteIpBlocks",
  "serviceAccounts",
  "trustDomains",
];
const operationNames = ["hosts", "ports", "methods", "paths"];
const withNegated = (names: readonly string[]) =>
  names.flatMap((name) => [name, `not${name.charAt(0).toUpperCase()}${name.slice(1)}`]);
const sourceFields = withNegated(sourceNames);
const operationFields = withNegated(operationNames);

function sourceProblems(from: Field): readonly Problem[] {
  const source = field(from, "source");
  if (!isSet(source)) return refuseIf(true, source, "is required");
  const has = (name: string) => texts(source, name).length > 0;
  const mixes = withNegated(["serviceAccounts"]).some(has) && withNegated(["principals", "namespaces"]).some(has);
  return [
    ...refuseIf(!sourceFields.some(has), source, "must not be empty"),
    ...emptyTextProblems(source, sourceFields),
    ...refuseIf(mixes, source, "serviceAccounts must not be set beside principals or namespaces"),
    ...eachOf(source, withNegated(["ipBlocks", "remoteIpBlocks"]), rangeProblems),
    ...withNegated(["serviceAccounts"]).flatMap((name) =>
      serviceAccountProblems(texts(source, name), field(source, name)),
    ),
    ...eachOf(source, withNegated(["trustDomains"]), trustDomainProblems),
  ];
}

function operationProblems(to: Field): readonly Problem[] {
  const operation = field(to, "operation");
  if (!isSet(operation)) return refuseIf(true, operation, "is required");
  return [
    ...refuseIf(!operationFields.some((name) => texts(operation, name).length > 0), operation, "must not be empty"),
    ...emptyTextProblems(operation, operationFields),
    ...eachOf(operation, withNegated(["ports"]), portTextProblems),
    ...eachOf(operation, withNegated(["paths"]), pathTemplateProblems),
  ];
}

/** The check of every text of the lists; empty ones are reported by themselves. */
function eachOf(
  parent: Field,
  names: readonly string[],
  check: (text: Field & { readonly value: string }) => readonly Problem[],
): readonly Problem[] {
  return names.flatMap((name) => texts(parent, name).flatMap((text) => (text.value === "" ? [] : check(text))));
}

function emptyTextProblems(parent: Field, names: readonly string[]): readonly Problem[] {
  return names.flatMap((name) =>
    texts(parent, name).flatMap((one) => refuseIf(one.value === "", one, "must not be empty")),
  );
}

/** `{*}` stands for one segment, `{**}` for any number of them and nothing that matches after it. */
function pathTemplateProblems(path: Field): readonly Problem[] {
  const text = textOf(path);
  if (!/[{}]/.test(text)) return [];
  let isOver = false;
  for (const segment of segmentsOf(text)) {
    const isTemplate = segment === "{*}" || segment === "{**}";
    if (isTemplate && isOver) return refuseIf(true, path, `in ${text} {**} is not the last operator`);
    if (segment === "{**}") isOver = true;
    if (!isTemplate && /[{}*]/.test(segment))
      return refuseIf(true, path, `${text}: {, } and * stand in a path template only as {*} and {**}`);
    if (!isTemplate && !/^[-a-zA-Z0-9._~%!$&'()+,;:@=]+$/.test(segment))
      return refuseIf(true, path, `${text}: ${quoted(segment)} is no segment of a path`);
  }
  return [];
}

/** Slashes at both ends do not count. */
function segmentsOf(path: string): readonly string[] {
  const segments = path.split("/");
  const first = segments.findIndex((segment) => segment !== "");
  return segments.slice(Math.max(first, 0), segments.findLastIndex((segment) => segment !== "") + 1);
}

const uncheckable = withNegated(["namespaces", "serviceAccounts", "trustDomains", "principals", "requestPrincipals"]);
const uncheckableKeys: readonly string[] = [
  ...["source.namespace", "source.serviceAccount", "source.trustDomain", "source.principal"],
];

/** Of a request that is handed to a provider, who sent it is not known before. */
function customRuleProblems(rule: Field): readonly Problem[] {
  const lists = items(rule, "from").flatMap((from) => uncheckable.map((name) => field(field(from, "source"), name)));
  const keys = items(rule, "when").map((condition) => field(condition, "key"));
  const isUncheckable = (key: string) => uncheckableKeys.includes(key) || key.startsWith("request.auth.");
  return [
    ...lists.flatMap((list) =>
      refuseIf(Array.isArray(list.value) && list.value.length > 0, list, "is not supported with action CUSTOM"),
    ),
    ...keys.flatMap((key) =>
      refuseIf(isUncheckable(textOf(key)), key, `${textOf(key)} is not supported with action CUSTOM`),
    ),
  ];
}

const connectionFields = withNegated(["principals", "namespaces", "ipBlocks", "remoteIpBlocks", "serviceAccounts"]);

/** True where a rule can distinguish connections without HTTP; where it cannot, a denial hits all. */
function namesConnections(rule: Field): boolean {
  const sources = items(rule, "from").map((from) => field(from, "source"));
  const operations = items(rule, "to").map((to) => field(to, "operation"));
  const has = (parents: readonly Field[], names: readonly string[]) =>
    parents.some((parent) => names.some((name) => isSet(field(parent, name))));
  if (operations.some(isSet)) return has(operations, withNegated(["ports"]));
  return !sources.some(isSet) || has(sources, connectionFields);
}
