/** ProxyConfigs: settings of proxies that take a new start to change. */
import type { Problem } from "../problem.ts";
import { type Field, field } from "./shared/field.ts";
import { selectorProblems } from "./shared/selectors.ts";
import { nonNegativeProblems } from "./shared/values.ts";

export function validateProxyConfig(spec: Field): readonly Problem[] {
  return [
    ...selectorProblems(field(spec, "selector"), "matchLabels"),
    ...nonNegativeProblems(field(spec, "concurrency")),
  ];
}
