/** Names and values of headers that Envoy refuses, and with them the whole route configuration. */
import { isObject, ownValue } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { eachText, refuse } from "./checks.ts";

/** Headers that a route sets, adds and removes. */
export function headerProblems(headers: unknown, path: string): readonly Problem[] {
  if (!isObject(headers)) return [];
  return ["request", "response"].flatMap((way) => {
    const operations = ownValue(headers, way);
    return isObject(operations) ? operationProblems(operations, `${path}.${way}`) : [];
  });
}

function operationProblems(operations: JsonObject, path: string): readonly Problem[] {
  const changed = ["set", "add"].flatMap((name) => {
    const values = ownValue(operations, name);
    if (!isObject(values)) return [];
    return Object.entries(values).flatMap(([key, value]) => [
      ...headerNameProblems(key, `${path}.${name}[${key}]`),
      ...headerValueProblems(value, `${path}.${name}[${key}]`),
    ]);
  });
  return [...changed, ...eachText(operations, "remove", path).flatMap(([name, at]) => headerNameProblems(name, at))];
}

export function headerNameProblems(name: string, path: string): readonly Problem[] {
  if (name === "") return [refuse(path, "a header has a name")];
  return hasControl(name) ? [refuse(path, "the name of a header has no control characters")] : [];
}

/** `%%` is a percent sign, `%COMMAND(…)%` something that Envoy puts in. */
const escapesAndCommands = /%%|%[A-Z0-9_]+(?:\([^()]*\))?(?::\d+)?%/g;

export function headerValueProblems(value: unknown, path: string): readonly Problem[] {
  if (typeof value !== "string") return [];
  if (value.replace(escapesAndCommands, "").includes("%"))
    return [refuse(path, "a percent sign that begins no command is written %%")];
  return lineProblems(value, path);
}

/** For texts that become part of a request's or an answer's head. */
export function lineProblems(value: unknown, path: string): readonly Problem[] {
  return typeof value === "string" && hasControl(value) ? [refuse(path, "must not have control characters")] : [];
}

function hasControl(text: string): boolean {
  return [...text].some((character) => ["\0", "\r", "\n"].includes(character));
}
