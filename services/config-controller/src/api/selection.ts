/** Selects the objects of a collection that a request means: labelSelector and fieldSelector. */

import type { Config } from "@flotilla/model";
import { ownValue } from "@flotilla/model";
import { ApiError } from "./api-error.ts";

export type Selects = (config: Config) => boolean;

/** @throws ApiError 400 for what cannot be read */
export function parseSelection(query: URLSearchParams): Selects {
  const labels = splitRequirements(query.get("labelSelector") ?? "").map(parseLabel);
  const fields = splitRequirements(query.get("fieldSelector") ?? "").map(parseField);
  return (config) => [...labels, ...fields].every((selects) => selects(config));
}

/** At commas outside of parentheses. */
function splitRequirements(text: string): readonly string[] {
  const parts: string[] = [];
  let [begin, isInside] = [0, false];
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === "(" || text[at] === ")") isInside = text[at] === "(";
    if (at < text.length && (isInside || text[at] !== ",")) continue;
    parts.push(text.slice(begin, at));
    begin = at + 1;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

function parseLabel(text: string): Selects {
  const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(text);
  if (set !== null) {
    const [, name = "", operator, list = ""] = set;
    const values = list.split(",").map((value) => value.trim());
    return ({ labels }) => values.includes(ownValue(labels, name) ?? "\0") === (operator === "in");
  }
  const equality = /^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$/.exec(text);
  if (equality !== null) {
    const [, name = "", operator, value] = equality;
    return ({ labels }) => (ownValue(labels, name) === value) === (operator !== "!=");
  }
  const existence = /^(!?)\s*([^\s=!()]+)$/.exec(text);
  if (existence === null)
    throw new ApiError(400, "BadRequest", `labelSelector: ${JSON.stringify(text)} cannot be read`);
  const [, not, name = ""] = existence;
  return ({ labels }) => (ownValue(labels, name) !== undefined) === (not === "");
}

function parseField(text: string): Selects {
  const found = /^metadata\.(name|namespace)(==|=|!=)(.*)$/.exec(text);
  if (found === null)
    throw new ApiError(
      400,
      "BadRequest",
      `fieldSelector: ${JSON.stringify(text)} cannot be read, it may name metadata.name and metadata.namespace`,
    );
  const [, field, operator, value] = found;
  return ({ key }) => ((field === "name" ? key.name : key.namespace) === value) === (operator !== "!=");
}
