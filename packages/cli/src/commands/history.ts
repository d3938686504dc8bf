/** `flotilla history [KIND/NAME.NAMESPACE]`: the generations of the configuration, what each changed, who told it and when. */
import { ask } from "../connection.ts";
import type { history as definition } from "../definitions/insight.ts";
import { formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";

/** What `/debug/history` of config-controller answers. */
interface History {
  readonly generations: readonly {
    readonly generation: number;
    readonly at: string;
    readonly by: string;
    readonly changes: number;
    readonly objects: readonly { readonly object: string; readonly op: string }[];
  }[];
}

export const history: Run<typeof definition> = async ({ options, operands, terminal }) => {
  const query = { object: operands.object, limit: String(options.limit) };
  const answer = await ask<History>("config-controller", options, "/debug/history", query);
  terminal.print(render(formatOf(options), answer, describeHistory));
  return 0;
};

export function describeHistory({ generations }: History): string {
  if (generations.length === 0) return "no generation is kept";
  const lines = generations.flatMap(({ generation, by, changes, objects }) => [
    `${generation}  ${by}`,
    ...objects.map(({ object, op }) => `    ${op} ${object}`),
    ...(changes > objects.length ? [`    and ${changes - objects.length} more`] : []),
    ...(changes === 0 ? ["    what is kept begins here"] : []),
  ]);
  return lines.join("\n");
}
