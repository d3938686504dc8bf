/** Problems with the objects of files, each finding with its place. */
import { isForeignKind, kindOf } from "@flotilla/kinds";
import { isObject } from "@flotilla/model";
import { createValidator, type PatchValueCheck, type Problem, unknownKindText } from "@flotilla/validation";
import { type LocatedObject, locateObjects } from "./located-objects.ts";
import { meshConfigMapProblems } from "./mesh-config-map.ts";
import { byPlace, type Finding } from "./reports.ts";

export interface Judged {
  readonly findings: readonly Finding[];
  /** How many objects were checked; others are of no concern to the mesh. */
  readonly checked: number;
  readonly objects: readonly NamedObject[];
}

/** An object that was checked, where it stands. */
interface NamedObject {
  /** Equal for one object in several places. */
  readonly id: string;
  readonly object: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
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
    if (kindOf({ apiVersion, kind }) === undefined) return [refusal("kind", unknownKindText({ apiVersion, kind }))];
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
  const named: NamedObject[] = [];
  for (const { value, placeOf } of objects) {
    const problems = problemsOf(value);
    if (problems === undefined) continue;
    checked += 1;
    const object = nameOf(value);
    const id = idOf(value);
    if (object !== undefined && id !== undefined) named.push({ id, object, file, ...placeOf("") });
    for (const { field, reason, severity } of problems)
      findings.push({
        ...{ file, ...placeOf(field), severity, message: reason },
        ...(object !== undefined && { object }),
        ...(field !== "" && { field }),
      });
  }
  return { findings: findings.sort(byPlace), checked, objects: named };
}

/**
 * Objects that stand in more than one place. Separate directories, one for each cluster, have them on purpose: it is a warning, although a
 * directory that the mesh reads refuses all but the first.
 */
export function repeatedObjects(objects: readonly NamedObject[]): readonly Finding[] {
  const first = new Map<string, NamedObject>();
  return objects.flatMap(({ id, ...one }): readonly Finding[] => {
    const before = first.get(id);
    if (before === undefined) {
      first.set(id, { id, ...one });
      return [];
    }
    const message = `is in ${before.file}:${before.line} already: of one directory the mesh takes the first`;
    return [{ ...one, severity: "warning", message }];
  });
}

/** Undefined where the name or the kind is not there. */
function idOf(value: unknown): string | undefined {
  if (!isObject(value) || !isObject(value["metadata"])) return undefined;
  const { apiVersion, kind, metadata } = value;
  const { name, namespace } = metadata;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof name !== "string") return undefined;
  const row = kindOf({ apiVersion, kind });
  if (row === undefined) return undefined;
  return [row.name, row.namespaced ? String(namespace ?? "default") : "", name].join("/");
}

function nameOf(value: unknown): string | undefined {
  if (!isObject(value) || typeof value["kind"] !== "string") return undefined;
  const metadata = isObject(value["metadata"]) ? value["metadata"] : {};
  const { namespace, name } = metadata;
  return `${value["kind"]} ${typeof namespace === "string" ? `${namespace}/` : ""}${typeof name === "string" ? name : ""}`.trim();
}
