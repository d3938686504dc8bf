/** Routes of the Gateway API: their form, and what Envoy would refuse with everything beside it. */
import { isObject, ownValue } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { type Field, field, fieldAt, items, textOf, texts } from "./shared/field.ts";
import { headerNameProblems, headerValueProblems, lineProblems } from "./shared/http-headers.ts";
import { expressionProblems } from "./shared/text-match.ts";

const listOf = (fields: Fields): Shape => ({ list: { fields } });
const reference = { group: "text", kind: "text", namespace: "text", name: "text", port: "integer" } as const;
const namedValues = listOf({ name: "text", value: "text", type: "text" });
const headerModifier: Shape = { fields: { set: namedValues, add: namedValues, remove: { list: "text" } } };
const path: Shape = { fields: { type: "text", replaceFullPath: "text", replacePrefixMatch: "text" } };
const textList: Shape = { list: "text" };
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
      ...{ allowOrigins: textList, allowMethods: textList, allowHeaders: textList, exposeHeaders: textList },
      ...{ allowCredentials: "boolean", maxAge: "integer" },
    },
  },
});
const backendRefs = listOf({ ...reference, weight: "integer", filters });

function routeOf(rule: Fields): Shape {
  const rules = listOf({ name: "text", backendRefs, ...rule });
  return { fields: { parentRefs: listOf({ ...reference, sectionName: "text" }), hostnames: textList, rules } };
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
  UDPRoute: routeOf({}),
};

export function validateGatewayRoute({ kind, spec: value }: JsonObject): readonly Problem[] {
  const form = shapeProblems(value, ownValue(shapes, String(kind)) ?? { fields: {} }, "spec");
  const spec: Field = { value, path: "spec" };
  if (form.length > 0) return form;
  return items(spec, "rules").flatMap((rule) => [
    ...items(rule, "matches").flatMap(matchProblems),
    ...items(rule, "filters").flatMap(filterProblems),
    ...items(rule, "backendRefs").flatMap((backend) => items(backend, "filters").flatMap(filterProblems)),
  ]);
}

function matchProblems(match: Field): readonly Problem[] {
  const method = field(match, "method");
  const isExpression = textOf(field(method, "type")) === "RegularExpression";
  return [
    ...valueProblems(field(match, "path")),
    ...["service", "method"].flatMap((name) =>
      isExpression && textOf(field(method, name)) !== "" ? expressionProblems(field(method, name)) : [],
    ),
    ...["headers", "queryParams"].flatMap((name) =>
      items(match, name).flatMap((one) => [...namedProblems(one), ...valueProblems(one)]),
    ),
  ];
}

function namedProblems(named: Field): readonly Problem[] {
  const name = field(named, "name");
  return headerNameProblems(textOf(name), name);
}

function valueProblems(match: Field): readonly Problem[] {
  if (textOf(field(match, "type")) !== "RegularExpression") return [];
  const value = field(match, "value");
  return expressionProblems({ value: value.value ?? "", path: value.path });
}

function filterProblems(filter: Field): readonly Problem[] {
  return [
    ...["requestHeaderModifier", "responseHeaderModifier"].flatMap((name) => modifierProblems(field(filter, name))),
    ...["urlRewrite", "requestRedirect"].flatMap((name) => lineProblems(fieldAt(filter, name, "hostname"))),
  ];
}

function modifierProblems(modifier: Field): readonly Problem[] {
  return [
    ...["set", "add"].flatMap((name) =>
      items(modifier, name).flatMap((one) => [...namedProblems(one), ...headerValueProblems(field(one, "value"))]),
    ),
    ...texts(modifier, "remove").flatMap((name) => headerNameProblems(name.value, name)),
  ];
}

/** Fields that are not named may be anything. Every field may be absent or null. */
type Shape = "text" | "integer" | "boolean" | { readonly list: Shape } | { readonly fields: Fields };
type Fields = Readonly<Record<string, Shape>>;

/** Checks that plain data has the form that its readers rely on, for kinds whose schema is not at hand. */
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

function refuse(path: string, reason: string): Problem {
  return { field: path, reason, severity: "error" };
}
