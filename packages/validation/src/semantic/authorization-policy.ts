/**
 * What the schema of an AuthorizationPolicy cannot express. A port that is no number makes Envoy refuse all that a workload
 * listens on, and a path template that it cannot read ends its process.
 */
import { isObject } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { each, eachText, refuse } from "./checks.ts";

export function validateAuthorizationPolicy({ spec }: JsonObject): readonly Problem[] {
  if (!isObject(spec)) return [];
  return each(spec, "rules", "spec").flatMap(([rule, path]) => [
    ...each(rule, "to", path).flatMap(([to, at]) => {
      const operation = to["operation"];
      return isObject(operation) ? operationProblems(operation, `${at}.operation`) : [];
    }),
    ...each(rule, "when", path)
      .filter(([condition]) => condition["key"] === "destination.port")
      .flatMap(([condition, at]) => ["values", "notValues"].flatMap((name) => portProblems(condition, name, at))),
  ]);
}

function operationProblems(operation: JsonObject, path: string): readonly Problem[] {
  return [
    ...["ports", "notPorts"].flatMap((name) => portProblems(operation, name, path)),
    ...["paths", "notPaths"].flatMap((name) =>
      eachText(operation, name, path).flatMap(([text, at]) => pathTemplateProblems(text, at)),
    ),
  ];
}

function portProblems(parent: JsonObject, name: string, path: string): readonly Problem[] {
  return eachText(parent, name, path)
    .filter(([port]) => !isPort(port))
    .map(([port, at]) => refuse(at, `${JSON.stringify(port)} is no port number between 1 and 65535`));
}

function isPort(text: string): boolean {
  return /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/** `{*}` stands for one segment, `{**}` for any number of them and nothing that matches after it. */
function pathTemplateProblems(text: string, field: string): readonly Problem[] {
  if (!/[{}]/.test(text)) return [];
  let isOver = false;
  for (const segment of text.split("/")) {
    const isTemplate = segment === "{*}" || segment === "{**}";
    if (isTemplate && isOver) return [refuse(field, `in ${text} {**} is not the last operator`)];
    if (segment === "{**}") isOver = true;
    if (!isTemplate && /[{}*]/.test(segment))
      return [refuse(field, `${text}: {, } and * stand in a path template only as {*} and {**}`)];
  }
  return [];
}
