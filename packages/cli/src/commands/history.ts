/** `flotilla history [KIND/NAME.NAMESPACE]`: the generations of the configuration: when, by whom, and what each changed. */
import { writerOf } from "@flotilla/model";
import { ask } from "../connection.ts";
import type { history as definition } from "../definitions/insight.ts";
import { columns, type Format, formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";

/** Answer of `/debug/history` of config-controller. */
interface History {
  readonly generations: readonly Generation[];
}

interface Generation {
  readonly generation: number;
  readonly at: string;
  readonly cause: {
    readonly publisher: string;
    readonly epoch: string;
    readonly revision: number;
    readonly source?: string;
    /** Accounts that wrote it over the API. */
    readonly caller?: string;
  };
  readonly changes: number;
  /** The first of them. */
  readonly objects: readonly { readonly object: string; readonly op: string }[];
}

export const history: Run<typeof definition> = async ({ options, operands, terminal }) => {
  const query = { object: operands.object, limit: String(options.limit) };
  const answer = await ask<History>("config-controller", options, "/debug/history", query);
  const format = formatOf(options);
  terminal.print(render(format, answer, (value) => describeHistory(value, format, operands.object)));
  return 0;
};

export function describeHistory({ generations }: History, format: Format, object?: string): string {
  if (generations.length === 0)
    return object === undefined ? "no generation is kept" : `no generation that is kept changed ${object}`;
  const isWide = format === "wide";
  const head = ["GENERATION", "TIME", "WRITTEN BY", ...(isWide ? ["PUBLISHED BY"] : []), "CHANGES"];
  return columns([head, ...generations.flatMap((one) => rowsOf(one, isWide))]);
}

/** A row for each object, the generation named in the first. */
function rowsOf(
  { generation, at, cause, changes, objects }: Generation,
  isWide: boolean,
): readonly (readonly string[])[] {
  const lines = [
    // Objects without a namespace are `Namespace//shop` in the record.
    ...objects.map(({ object, op }) => `${op} ${object.replace("//", "/")}`),
    ...(changes > objects.length ? [`and ${changes - objects.length} more`] : []),
    ...(changes === 0 ? ["oldest generation that is kept"] : []),
  ];
  const { publisher, epoch, revision } = cause;
  const published = isWide ? [`${publisher} ${epoch.slice(0, 8)}/${revision}`] : [];
  const first = [String(generation), at.replace(/\.\d+Z$/, "Z"), writerOf(cause), ...published];
  return lines.map((line, index) => [...(index === 0 ? first : first.map(() => "")), line]);
}
