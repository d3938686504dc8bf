/** Choosing values, and asking what they are. */
import { fail, type TemplateFunctions } from "../builtins.ts";
import { isNothing, isTrue, typeName } from "../values.ts";
import { same, text } from "./arguments.ts";

const kindOf = (value: unknown): string => {
  if (isNothing(value)) return "invalid";
  const name = typeName(value);
  if (name === "list") return "slice";
  if (name === "boolean") return "bool";
  return name === "number" ? (Number.isInteger(value) ? "int" : "float64") : name;
};

export const flowFunctions: TemplateFunctions = {
  default: (otherwise, value) => (isTrue(value) ? value : otherwise),
  empty: (value) => !isTrue(value),
  coalesce: (...values) => values.find(isTrue),
  all: (...values) => values.every(isTrue),
  any: (...values) => values.some(isTrue),
  ternary: (yes, no, test) => (isTrue(test) ? yes : no),
  fail: (reason) => fail(text(reason)),
  kindOf,
  kindIs: (kind, value) => kindOf(value) === text(kind) || (kind === "float64" && typeof value === "number"),
  typeOf: kindOf,
  typeIs: (kind, value) => kindOf(value) === text(kind),
  deepEqual: same,
};
