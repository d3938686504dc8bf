/** What a route answers itself: direct responses, injected aborts, redirects. */
import { ownValue } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import { isObject, type JsonObject } from "../schema/schema.ts";
import { lineProblems } from "./http-headers.ts";
import { refuse } from "./path.ts";

export function answerProblems(route: JsonObject, path: string): readonly Problem[] {
  const { directResponse, fault, redirect } = route;
  const abort = isObject(fault) ? fault["abort"] : undefined;
  return [
    ...(isObject(directResponse) ? statusProblems(directResponse["status"] ?? 0, `${path}.directResponse.status`) : []),
    ...(isObject(abort) ? statusProblems(abort["httpStatus"] ?? 200, `${path}.fault.abort.httpStatus`) : []),
    ...(isObject(redirect) ? redirectProblems(redirect, `${path}.redirect`) : []),
  ];
}

function statusProblems(status: unknown, field: string): readonly Problem[] {
  if (typeof status !== "number" || (status >= 200 && status <= 599)) return [];
  return [refuse(field, `HTTP status ${status} is not in range 200-599`)];
}

const redirectCodes: readonly unknown[] = [undefined, 0, 301, 302, 303, 307, 308];
const targets = ["uri", "prefixRewrite", "authority", "scheme", "port", "derivePort"];

function redirectProblems(redirect: JsonObject, path: string): readonly Problem[] {
  const { redirectCode } = redirect;
  return [
    ...(targets.some((name) => ownValue(redirect, name) !== undefined && ownValue(redirect, name) !== "")
      ? []
      : [refuse(path, "must specify URI, authority, scheme, or port")]),
    ...(redirectCodes.includes(redirectCode)
      ? []
      : [refuse(`${path}.redirectCode`, `${redirectCode} is none of 301, 302, 303, 307, 308`)]),
    ...["uri", "authority", "prefixRewrite"].flatMap((name) =>
      lineProblems(ownValue(redirect, name), `${path}.${name}`),
    ),
  ];
}
