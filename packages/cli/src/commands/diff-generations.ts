/** `flotilla diff GENERATION GENERATION`: what differs in the configuration between two generations. */
import { unifiedDiff } from "../api/manifests.ts";
import { ask } from "../connection.ts";
import type { diff as definition } from "../definitions/objects.ts";
import { CliError } from "../errors.ts";
import { formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";

/** Answer of `/debug/diff?contents=true` of config-controller. */
interface Diff {
  readonly from: number;
  readonly to: number;
  readonly objects: readonly {
    readonly object: string;
    readonly op: "created" | "changed" | "deleted";
    /** Why the content is not kept. */
    readonly withheld?: string;
    readonly before?: object;
    readonly after?: object;
  }[];
}

export const diffGenerations: Run<typeof definition> = async ({ options, operands, terminal }) => {
  const [from, to, ...more] = operands.generations;
  if (from === undefined || to === undefined || more.length > 0 || options.file.length > 0)
    throw new CliError("CLI_USAGE", "diff needs -f FILE or two generations, as `flotilla history` lists them");
  const answer = await ask<Diff>("config-controller", options, "/debug/diff", { from, to, contents: "true" });
  terminal.print(render(formatOf(options), answer, describeDiff));
  return answer.objects.length > 0 ? 1 : 0;
};

export function describeDiff({ from, to, objects }: Diff): string {
  if (objects.length === 0) return `nothing differs between ${from} and ${to}`;
  const labels = [`generation ${from}`, `generation ${to}`] as const;
  return objects
    .map(({ object, op, withheld, before, after }) =>
      withheld === undefined
        ? unifiedDiff({ object, before, after, labels })
        : `${object} ${op}, not shown: ${withheld}`,
    )
    .join("\n");
}
