/** Telemetry: providers of traces, metrics and access logs, and their content. */
import { type ASTNode, parse } from "@marcbachmann/cel-js";
import type { Problem } from "../problem.ts";
import {
  entries,
  type Field,
  field,
  fieldAt,
  isSet,
  items,
  numberOf,
  refuseIf,
  textOf,
  warnIf,
} from "./shared/field.ts";
import { targetProblems } from "./shared/selectors.ts";

export function validateTelemetry(spec: Field): readonly Problem[] {
  const tracing = items(spec, "tracing");
  return [
    ...targetProblems(spec),
    ...["tracing", "metrics", "accessLogging"].flatMap((name) => items(spec, name).flatMap(providerProblems)),
    ...warnIf(tracing.length > 1, field(spec, "tracing"), "only the first member has an effect"),
    ...tracing.flatMap(tracingProblems),
    ...items(spec, "accessLogging").flatMap(logFilterProblems),
    ...items(spec, "metrics").flatMap((metrics) => items(metrics, "overrides").flatMap(overrideProblems)),
  ];
}

function providerProblems(part: Field): readonly Problem[] {
  return items(part, "providers")
    .map((provider) => field(provider, "name"))
    .flatMap((name) => refuseIf(textOf(name) === "", name, "must not be empty"));
}

/** The source of a tag's value, and the field that must not be empty there. */
const tagSources: readonly (readonly [source: string, needed: string])[] = [
  ["literal", "value"],
  ["header", "name"],
  ["environment", "name"],
];

function tracingProblems(tracing: Field): readonly Problem[] {
  const share = field(tracing, "randomSamplingPercentage");
  const providers = field(tracing, "providers");
  return [
    ...warnIf(items(tracing, "providers").length > 1, providers, "only the first provider gets traces"),
    ...refuseIf(
      numberOf(share) < 0 || numberOf(share) > 100,
      share,
      `percentage ${numberOf(share)} is not in range 0..100`,
    ),
    ...entries(tracing, "customTags").flatMap(([name, tag]) => [
      ...refuseIf(name === "", tag, "a tag has a name"),
      ...refuseIf(!isSet(tag), tag, "must not be null"),
      ...tagSources
        .filter(([source]) => isSet(field(tag, source)))
        .map(([source, needed]) => fieldAt(tag, source, needed))
        .flatMap((value) => refuseIf(textOf(value) === "", value, "must not be empty")),
    ]),
  ];
}

function logFilterProblems(logging: Field): readonly Problem[] {
  if (!isSet(field(logging, "filter"))) return [];
  const expression = fieldAt(logging, "filter", "expression");
  const problem = celProblem(textOf(expression));
  return refuseIf(problem !== undefined, expression, `is no CEL expression: ${problem}`);
}

// CEL syntax unknown to the parser: names between backticks, messages (`T{…}`), `.5`, raw bytes as `br"…"`. Such expressions are not
// judged.
const unknownToParser = /`|[\w)\]]\s*\{|(?:^|[^\w)\]])\.\d|\bbr["']/i;

/**
 * Why `text` is no expression of CEL; undefined when it is one. Its syntax alone is checked, since the names in it depend on the proxy. As
 * cel-go's parser answers, which istiod asks, `has()` takes a field selected by a dot and nothing else.
 */
function celProblem(text: string): string | undefined {
  try {
    return wrongHas(parse(text).ast)
      ? "has() takes a field such as request.url_path, not an index or a name alone"
      : undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return unknownToParser.test(text) ? undefined : (error.message.split("\n")[0] ?? error.message);
  }
}

function wrongHas(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(wrongHas);
  if (typeof node !== "object" || node === null || !("op" in node)) return false;
  const { op, args } = node as ASTNode;
  if (op !== "call" || args[0] !== "has") return wrongHas(args);
  const [of, ...others] = args[1];
  return others.length > 0 || (of?.op !== "." && of?.op !== ".?") || wrongHas(of);
}

function overrideProblems(override: Field): readonly Problem[] {
  const custom = fieldAt(override, "match", "customMetric");
  return [
    ...refuseIf(isSet(custom) && textOf(custom) === "", custom, "must not be empty"),
    ...entries(override, "tagOverrides").flatMap(([name, tag]) => {
      const value = field(tag, "value");
      const removes = textOf(field(tag, "operation")) === "REMOVE";
      return [
        ...warnIf(name === "", tag, "a tag has a name"),
        ...refuseIf(!isSet(tag), tag, "must not be null"),
        ...refuseIf(isSet(tag) && !removes && textOf(value) === "", value, "is required for operation UPSERT"),
        ...refuseIf(removes && textOf(value) !== "", value, "must not be set for operation REMOVE"),
      ];
    }),
  ];
}
