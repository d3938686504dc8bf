/** `flotilla get KIND [NAME]`: what is in force, from whatever source. */
import { stringify } from "yaml";
import { openApi, parseApiArgs } from "../api/api-client.ts";
import { kindArgument } from "../api/kind-argument.ts";
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";

interface InForce {
  readonly object: {
    readonly kind: string;
    readonly metadata: {
      readonly name: string;
      readonly namespace?: string;
      readonly creationTimestamp?: string;
      readonly generation?: number;
    };
  };
  readonly provenance?: { readonly source: string; readonly location?: string };
}

export const get: Command = async (args, env) => {
  const { values, positionals } = parseApiArgs(args, {
    output: { type: "string", short: "o" },
    selector: { type: "string", short: "l" },
    "all-namespaces": { type: "boolean", short: "A", default: false },
  });
  const [kind, name] = positionals;
  if (kind === undefined) throw new CliError("CLI_USAGE", "get needs KIND, and may have NAME");
  const output = values.output ?? "table";
  if (!["table", "yaml", "json", "name"].includes(output))
    throw new CliError("CLI_USAGE", `-o ${output} is none of yaml, json, name`);
  const row = kindArgument(kind);
  const isOfAll = !row.namespaced || (values["all-namespaces"] && name === undefined);
  const query = new URLSearchParams({
    namespace: isOfAll ? "" : (values.namespace ?? "default"),
    ...(values.selector !== undefined && { labelSelector: values.selector }),
    ...(name !== undefined && { fieldSelector: `metadata.name=${name}` }),
  });
  const api = await openApi(values, env);
  const { items } = await api.call<{ readonly items: readonly InForce[] }>(
    "GET",
    `/flotilla/v1/in-force/${row.name}?${query}`,
  );
  if (name !== undefined && items.length === 0)
    throw new CliError("CLI_REFUSED", `${row.kind} ${JSON.stringify(name)} is not there`);
  process.stdout.write(`${show(items, output, name !== undefined)}\n`);
  return 0;
};

function show(items: readonly InForce[], output: string, isOne: boolean): string {
  const objects = items.map(({ object }) => object);
  const shown = isOne ? objects[0] : { apiVersion: "v1", kind: "List", items: objects };
  if (output === "json") return JSON.stringify(shown, undefined, 2);
  if (output === "yaml") return stringify(shown).trimEnd();
  if (output === "name")
    return objects.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`).join("\n");
  return items.length === 0 ? "nothing is there" : table(items);
}

export function table(items: readonly InForce[], nowMs: number = Date.now()): string {
  const rows = [
    ["NAMESPACE", "NAME", "AGE", "SOURCE"],
    ...items.map(({ object: { metadata }, provenance }) => [
      metadata.namespace ?? "",
      metadata.name,
      age(Date.parse(metadata.creationTimestamp ?? ""), nowMs),
      [provenance?.source, provenance?.location].filter(Boolean).join(" "),
    ]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("   ")
        .trimEnd(),
    )
    .join("\n");
}

function age(createdMs: number, nowMs: number): string {
  // Files tell no time of creation.
  if (!(createdMs > 0)) return "";
  const seconds = Math.max(0, Math.floor((nowMs - createdMs) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
