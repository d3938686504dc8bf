/** Problems for which the webhook would refuse or warn, for each object by itself. */
import { isIstioKind, kinds } from "@flotilla/kinds";
import { createValidator, type Problem, problemText } from "@flotilla/validation";
import type { Analyzer } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import type { MeshObject } from "../mesh-object.ts";

/** Its validator keeps compiled rules: one for the life of a process is right. */
export function validity(): Analyzer {
  const validate = createValidator();
  return {
    name: "validity",
    summary: "objects that the webhook refuses or warns of",
    messages: ["SchemaValidationError", "SchemaWarning", "UnreachableRule", "IneffectiveMatch"],
    checks: kinds.filter(isIstioKind).map(({ name }) => name),
    reads: [],
    check: (object) =>
      validate(object.whole.value as Readonly<Record<string, unknown>>).map((problem) => findingOf(object, problem)),
  };
}

function findingOf(object: MeshObject, problem: Problem): Finding {
  const reason = problemText(problem);
  const at = { value: undefined, path: problem.field };
  if (problem.severity === "error") return finding("SchemaValidationError", object, at, { reason });
  if (problem.rule === "unused-route") return finding("UnreachableRule", object, at, { reason });
  if (problem.rule === "unmet-match") return finding("IneffectiveMatch", object, at, { reason });
  return finding("SchemaWarning", object, at, { reason });
}
