/** Measurements taken on the way, for docs/benchmarks.md. */
import { kubectl } from "./process.ts";

const figures: (readonly [string, string])[] = [];

export function record(what: string, value: string): void {
  figures.push([what, value]);
}

/** How long it took, recorded. */
export async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const start = performance.now();
  await work();
  record(what, `${((performance.now() - start) / 1000).toFixed(1)} s`);
}

export function figuresTable(): string {
  return ["| | |", "|---|---|", ...figures.map(([what, value]) => `| ${what} | ${value} |`)].join("\n");
}

interface Summary {
  readonly pods?: readonly {
    readonly podRef: { readonly name: string; readonly namespace: string };
    readonly containers?: readonly { readonly name: string; readonly memory?: { readonly workingSetBytes?: number } }[];
  }[];
}

/** Memory of the containers of a namespace in MB, as the kubelets measure it. */
export async function memoryByContainer(namespace: string): Promise<ReadonlyMap<string, number>> {
  const names = (await kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}")).split(" ");
  const memory = new Map<string, number>();
  for (const name of names) {
    const summary = JSON.parse(await kubectl("get", "--raw", `/api/v1/nodes/${name}/proxy/stats/summary`)) as Summary;
    for (const { podRef, containers = [] } of summary.pods ?? [])
      for (const container of containers)
        if (podRef.namespace === namespace)
          memory.set(
            `${podRef.name}/${container.name}`,
            Math.round((container.memory?.workingSetBytes ?? 0) / 2 ** 20),
          );
  }
  return memory;
}
