/** Conditions of AuthorizationPolicies: attributes of a request, each with values of its own form. */
import type { Problem } from "../problem.ts";
import { type Field, field, refuseIf, textOf, texts } from "./shared/field.ts";
import { quoted } from "./shared/names.ts";
import { portTextProblems, rangeProblems } from "./shared/values.ts";

type ValueCheck = (values: readonly Field[], list: Field) => readonly Problem[];

const anyText: ValueCheck = () => [];
const ranges: ValueCheck = (values) => values.flatMap(rangeProblems);

/** By the attribute's name. */
const attributes: ReadonlyMap<string, ValueCheck> = new Map<string, ValueCheck>([
  ["source.ip", ranges],
  ["remote.ip", ranges],
  ["destination.ip", ranges],
  ["destination.port", (values) => values.flatMap(portTextProblems)],
  ["source.serviceAccount", serviceAccountProblems],
  ["source.trustDomain", (values) => values.flatMap(trustDomainProblems)],
  ...["source.namespace", "source.principal", "connection.sni"].map((name) => [name, anyText] as const),
  ...["request.auth.principal", "request.auth.audiences", "request.auth.presenter"].map(
    (name) => [name, anyText] as const,
  ),
]);

/** Attributes of maps, which a key follows in brackets. */
const maps = ["request.headers", "request.auth.claims", "experimental.envoy.filters."];

/** The present form of keys of an earlier API. */
const replaced: ReadonlyMap<string, string> = new Map([
  ["destination.namespace", "the policy's own namespace"],
  ["destination.name", "the policy's selector"],
  ["destination.user", "the policy's selector"],
]);

export function conditionProblems(condition: Field): readonly Problem[] {
  const key = field(condition, "key");
  const name = textOf(key);
  const lists = ["values", "notValues"].map((list) => [texts(condition, list), field(condition, list)] as const);
  if (name === "") return refuseIf(true, key, "must not be empty");
  if (lists.every(([values]) => values.length === 0)) return refuseIf(true, condition, "needs values or notValues");
  const empty = lists.flatMap(([values]) =>
    values.flatMap((one) => refuseIf(one.value === "", one, "must not be empty")),
  );
  if (maps.some((map) => name.startsWith(map))) {
    const open = name.indexOf("[");
    const hasKey = name.endsWith("]") && open > 0 && open < name.length - 2;
    return [...empty, ...refuseIf(!hasKey, key, `${name} has no key in brackets, as in request.headers[x-user]`)];
  }
  const check = attributes.get(name);
  if (check !== undefined)
    return [
      ...empty,
      ...lists.flatMap(([values, list]) =>
        check(
          values.filter(({ value }) => value !== ""),
          list,
        ),
      ),
    ];
  const now = name.startsWith("destination.labels") ? "the policy's selector" : replaced.get(name);
  const advice = now === undefined ? "is no attribute that a policy can ask for" : `is not supported: use ${now}`;
  return refuseIf(true, key, `${name} ${advice}`);
}

const maxAccounts = 16;
const maxAccountLength = 320;

/** `name` or `namespace/name`, as they are. */
export function serviceAccountProblems(accounts: readonly Field[], list: Field): readonly Problem[] {
  return [
    ...refuseIf(
      accounts.length > maxAccounts,
      list,
      `has ${accounts.length} service accounts, ${maxAccounts} are allowed`,
    ),
    ...accounts.flatMap((account) => {
      const text = textOf(account);
      const isAccount = /^(?:[^/*]+\/)?[^/*]+$/.test(text) && text.length <= maxAccountLength;
      return refuseIf(text !== "" && !isAccount, account, `${quoted(text)} is neither NAME nor NAMESPACE/NAME`);
    }),
  ];
}

/** A trust domain, with one `*` at the beginning or the end. */
export function trustDomainProblems(domain: Field): readonly Problem[] {
  const text = textOf(domain);
  return refuseIf(
    !/^(?:\*?[^*/]*|[^*/]*\*)$/.test(text),
    domain,
    `${quoted(text)} is no trust domain, nor one with * at an end`,
  );
}
