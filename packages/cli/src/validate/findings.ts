/** Problems with the objects of files, each finding with its place. */
import { isForeignKind, kindOf } from "@flotilla/kinds";
import { isObject } from "@flotilla/model";
import { createValidator, type PatchValueCheck, type Problem } from "@flotilla/validation";
import { type LocatedObject, locateObjects } from "./located-objects.ts";
import { meshConfigMapProblems } from "./mesh-config-map.ts";
import { byPlace, type Finding } from "./reports.ts";

export interface Judged {
  readonly findings: readonly Finding[];
  /** How many objects were checked; others are of no concern to the mesh. */
  readonly checked: number;
}

type FindProblems = (object: LocatedObject["value"]) => readonly Problem[] | undefined;

/** Keeps compiled rules over the files of a run. @param patchValue Envoy's types, where an EnvoyFilter is among the files */
export function createJudge(patchValue?: PatchValueCheck): (file: string, text: string) => Judged {
  const validate = createValidator({ patchValue: () => patchValue });
  const problemsOf: FindProblems = (value) => {
    if (!isObject(value)) return [refusal("", "is no object")];
    const { apiVersion, kind, metadata } = value;
    if (typeof apiVersion !== "string") return [refusal("apiVersion", "is required")];
    if (typeof kind !== "string") return [refusal("kind", "is required")];
    if (kind === "ConfigMap" && apiVersion === "v1") return meshConfigMapProblems(value);
    if (isForeignKind({ apiVersion, kind })) return undefined;
    if (kindOf({ apiVersion, kind }) === undefined)
      return [refusal("kind", `${apiVersion} ${kind} is no kind that is known here`)];
    const name = isObject(metadata) ? metadata["name"] : undefined;
    const unnamed = typeof name === "string" && name !== "" ? [] : [refusal("metadata.name", "is required")];
    return [...unnamed, ...validate(value)];
  };
  return (file, text) => judge(file, text, problemsOf);
}

function refusal(field: string, reason: string): Problem {
  return { field, reason, severity: "error" };
}

function judge(file: string, text: string, problemsOf: FindProblems): Judged {
  const { objects, syntax } = locateObjects(text);
  const findings: Finding[] = syntax.map(({ reason, ...place }) => ({
    ...{ file, ...place, severity: "error", message: reason },
  }));
  let checked = 0;
  for (const { value, placeOf } of objects) {
    const problems = problemsOf(value);
    if (problems === undefined) continue;
    checked += 1;
    const object = nameOf(value);
    for (const { field, reason, severity } of problems)
      findings.push({
        ...{ file, ...placeOf(field), severity, message: reason },
        ...(object !== undefined && { object }),
        ...(field !== "" && { field }),
      });
  }
  return { findings: findings.sort(byPlace), checked };
}

function nameOf(value: unknown): string | undefined {
  if (!isObject(value) || typeof value["kind"] !== "string") return undefined;
  const metadata = isObject(value["metadata"]) ? value["metadata"] : {};
  const { namespace, name } = metadata;
  return `${value["kind"]} ${typeof namespace === "string" ? `${namespace}/` : ""}${typeof name === "string" ? name : ""}`.trim();
}
