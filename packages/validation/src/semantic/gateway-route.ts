/** Routes of the Gateway API: their form, and what Envoy would refuse with everything beside it. */
import { isObject, ownValue } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { each, eachText, expressionProblem, refuse } from "./checks.ts";
import { headerNameProblems, headerValueProblems, lineProblems } from "./http-headers.ts";

const listOf = (fields: Fields): Shape => ({ list: { fields } });
const reference = { group: "text", kind: "text", namespace: "text", name: "text", port: "integer" } as const;
const namedValues = listOf({ name: "text", value: "text", type: "text" });
const headerModifier: Shape = { fields: { set: namedValues, add: namedValues, remove: { list: "text" } } };
const path: Shape = { fields: { type: "text", replaceFullPath: "text", replacePrefixMatch: "text" } };
const texts: Shape = { list: "text" };
const filters = listOf({
  type: "text",
  requestHeaderModifier: headerModifier,
  responseHeaderModifier: headerModifier,
  requestMirror: {
    fields: {
      backendRef: { fields: reference },
      percent: "integer",
      fraction: { fields: { numerator: "integer", denominator: "integer" } },
    },
  },
  requestRedirect: { fields: { scheme: "text", hostname: "text", path, port: "integer", statusCode: "integer" } },
  urlRewrite: { fields: { hostname: "text", path } },
  cors: {
    fields: {
      ...{ allowOrigins: texts, allowMethods: texts, allowHeaders: texts, exposeHeaders: texts },
      ...{ allowCredentials: "boolean", maxAge: "integer" },
    },
  },
});
const backendRefs = listOf({ ...reference, weight: "integer", filters });

function routeOf(rule: Fields): Shape {
  const rules = listOf({ name: "text", backendRefs, ...rule });
  return { fields: { parentRefs: listOf({ ...reference, sectionName: "text" }), hostnames: texts, rules } };
}

const pathMatch: Shape = { fields: { type: "text", value: "text" } };
const methodMatch: Shape = { fields: { type: "text", service: "text", method: "text" } };
const shapes: Readonly<Record<string, Shape>> = {
  HTTPRoute: routeOf({
    filters,
    matches: listOf({ path: pathMatch, headers: namedValues, queryParams: namedValues, method: "text" }),
    timeouts: { fields: { request: "text", backendRequest: "text" } },
    retry: { fields: { attempts: "integer", codes: { list: "integer" }, backoff: "text" } },
  }),
  GRPCRoute: routeOf({ filters, matches: listOf({ method: methodMatch, headers: namedValues }) }),
  TCPRoute: routeOf({}),
  TLSRoute: routeOf({}),
};

export function validateGatewayRoute({ kind, spec }: JsonObject): readonly Problem[] {
  const form = shapeProblems(spec, ownValue(shapes, String(kind)) ?? { fields: {} }, "spec");
  if (form.length > 0 || !isObject(spec)) return form;
  return each(spec, "rules", "spec").flatMap(([rule, at]) => [
    ...each(rule, "matches", at).flatMap(([match, matchAt]) => matchProblems(match, matchAt)),
    ...each(rule, "filters", at).flatMap(([filter, filterAt]) => filterProblems(filter, filterAt)),
    ...each(rule, "backendRefs", at).flatMap(([ref, refAt]) =>
      each(ref, "filters", refAt).flatMap(([filter, filterAt]) => filterProblems(filter, filterAt)),
    ),
  ]);
}

function matchProblems(match: JsonObject, at: string): readonly Problem[] {
  const method = isObject(match["method"]) ? match["method"] : {};
  const isExpression = method["type"] === "RegularExpression";
  return [
    ...(isObject(match["path"]) ? valueProblems(match["path"], `${at}.path`) : []),
    ...["service", "method"].flatMap((name) =>
      isExpression && ownValue(method, name) ? expressionProblems(ownValue(method, name), `${at}.method.${name}`) : [],
    ),
    ...["headers", "queryParams"].flatMap((name) =>
      each(match, name, at).flatMap(([one, oneAt]) => [
        ...headerNameProblems(String(one["name"] ?? ""), `${oneAt}.name`),
        ...valueProblems(one, oneAt),
      ]),
    ),
  ];
}

function valueProblems(match: JsonObject, at: string): readonly Problem[] {
  return match["type"] === "RegularExpression" ? expressionProblems(match["value"] ?? "", `${at}.value`) : [];
}

function expressionProblems(expression: unknown, at: string): readonly Problem[] {
  if (expression === "") return [refuse(at, "must not be empty")];
  const problem = expressionProblem(String(expression));
  return problem === undefined ? [] : [refuse(at, problem)];
}

function filterProblems(filter: JsonObject, at: string): readonly Problem[] {
  const { urlRewrite, requestRedirect } = filter;
  return [
    ...["requestHeaderModifier", "responseHeaderModifier"].flatMap((name) => {
      const modifier = ownValue(filter, name);
      return isObject(modifier) ? modifierProblems(modifier, `${at}.${name}`) : [];
    }),
    ...(isObject(urlRewrite) ? lineProblems(urlRewrite["hostname"], `${at}.urlRewrite.hostname`) : []),
    ...(isObject(requestRedirect) ? lineProblems(requestRedirect["hostname"], `${at}.requestRedirect.hostname`) : []),
  ];
}

function modifierProblems(modifier: JsonObject, at: string): readonly Problem[] {
  return [
    ...["set", "add"].flatMap((name) =>
      each(modifier, name, at).flatMap(([one, oneAt]) => [
        ...headerNameProblems(String(one["name"] ?? ""), `${oneAt}.name`),
        ...headerValueProblems(one["value"], `${oneAt}.value`),
      ]),
    ),
    ...eachText(modifier, "remove", at).flatMap(([name, nameAt]) => headerNameProblems(name, nameAt)),
  ];
}

/** Fields that are not named may be anything. Every field may be absent or null. */
type Shape = "text" | "integer" | "boolean" | { readonly list: Shape } | { readonly fields: Fields };
type Fields = Readonly<Record<string, Shape>>;

/** Whether plain data has the form that its readers count on, for kinds whose schema is not at hand. */
function shapeProblems(value: unknown, shape: Shape, path: string): readonly Problem[] {
  if (value === undefined || value === null) return [];
  if (shape === "text") return typeof value === "string" ? [] : [refuse(path, "must be a string")];
  if (shape === "integer") return Number.isInteger(value) ? [] : [refuse(path, "must be an integer")];
  if (shape === "boolean") return typeof value === "boolean" ? [] : [refuse(path, "must be true or false")];
  if ("list" in shape) {
    if (!Array.isArray(value)) return [refuse(path, "must be a list")];
    return value.flatMap((one, index) =>
      one === null
        ? [refuse(`${path}[${index}]`, "must not be null")]
        : shapeProblems(one, shape.list, `${path}[${index}]`),
    );
  }
  if (!isObject(value)) return [refuse(path, "must be an object")];
  return Object.entries(shape.fields).flatMap(([name, inner]) =>
    shapeProblems(ownValue(value, name), inner, `${path}.${name}`),
  );
}
