/** A comparison as text for people, and as SARIF for tools that show findings. */
import type { JsonValue } from "@flotilla/proto";
import { columns } from "../output.ts";
import type { FieldDifference, ProxyDifferences, ResourceDifference } from "./differences.ts";

export interface Comparison {
  readonly proxies: readonly ProxyDifferences[];
  /** Connected proxies of types that Flotilla does not serve as istiod does yet, by type. */
  readonly notCompared: Readonly<Record<string, number>>;
}

/** The rest is in `-o json`. */
const mostFields = 5;
const longestValue = 120;

export function describeComparison({ proxies, notCompared }: Comparison): string {
  const sum = (pick: (proxy: ProxyDifferences) => number) => proxies.reduce((total, proxy) => total + pick(proxy), 0);
  const whole = proxies.filter(({ differences }) => differences.length === 0).length;
  const rest = Object.entries(notCompared).map(([type, count]) => `${count} of type ${type}`);
  const rows = proxies.map(({ proxy, identical, resources, differences }) => [
    proxy,
    `${identical}/${resources}`,
    `${differences.length}`,
  ]);
  return [
    columns([["PROXY", "IDENTICAL", "DIFFERENT"], ...rows]),
    ...proxies.flatMap(({ proxy, differences }) => differences.flatMap((one) => describeResource(proxy, one))),
    "",
    `${whole} of ${proxies.length} proxies identical, ${sum(({ identical }) => identical)} of ${sum(({ resources }) => resources)} resources`,
    ...(rest.length === 0 ? [] : [`not compared: ${rest.join(", ")}`]),
  ].join("\n");
}

function describeResource(proxy: string, difference: ResourceDifference): readonly string[] {
  const { fields } = difference;
  const more = fields.length > mostFields ? [`  ${fields.length - mostFields} more fields, see -o json`] : [];
  return ["", `${proxy} ${sentence(difference)}`, ...fields.slice(0, mostFields).flatMap(describeField), ...more];
}

function sentence({ type, name, outcome, object }: ResourceDifference): string {
  const what = outcome === "different" ? "differs" : `is sent by ${outcome.replace("only ", "")} alone`;
  return `${type} ${name === "" ? "(the table)" : name} ${what}${object === undefined ? "" : `: ${object}`}`;
}

function describeField({ path, istiod, flotilla }: FieldDifference): readonly string[] {
  return [`  ${path}`, `    istiod   ${valueText(istiod)}`, `    flotilla ${valueText(flotilla)}`];
}

function valueText(value: JsonValue | undefined): string {
  if (value === undefined) return "(absent)";
  const text = JSON.stringify(value);
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
}

const ruleOf = { different: "resource-differs", "only istiod": "resource-missing", "only flotilla": "resource-extra" };

/** SARIF 2.1.0: a result for each resource that differs, at the logical place PROXY/TYPE/NAME. */
export function sarifOf({ proxies }: Comparison): object {
  const results = proxies.flatMap(({ proxy, differences }) =>
    differences.map((difference) => ({
      ruleId: ruleOf[difference.outcome],
      level: "error",
      message: { text: [sentence(difference), ...difference.fields.flatMap(describeField)].join("\n") },
      locations: [
        {
          logicalLocations: [
            {
              name: difference.name,
              kind: "resource",
              fullyQualifiedName: `${proxy}/${difference.type}/${difference.name}`,
            },
          ],
        },
      ],
      properties: { proxy, object: difference.object ?? null },
    })),
  );
  const rules = [
    { id: ruleOf.different, shortDescription: { text: "Fields of a resource differ" } },
    { id: ruleOf["only istiod"], shortDescription: { text: "Only istiod sends a resource" } },
    { id: ruleOf["only flotilla"], shortDescription: { text: "Only Flotilla sends a resource" } },
  ];
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [{ tool: { driver: { name: "flotilla compare", rules } }, results }],
  };
}
