/** Requests of the workload web (samples/kubernetes/shop.yaml) to orders, as it counts them itself. */
import { until } from "@flotilla/runtime";
import { kubectl } from "./process.ts";

/** The container of the workload web, as arguments of kubectl. */
export const web = ["-n", "shop", "deployment/web", "-c", "web"] as const;

export interface Counts {
  readonly answered: number;
  readonly failed: number;
  /** Of the last failure. */
  readonly reason?: string;
  /** Of the last answer. */
  readonly last?: { readonly pod: string; readonly route?: string; readonly certificate?: string };
}

export async function counts(): Promise<Counts> {
  const line = await kubectl("logs", ...web, "--tail=1");
  return line.trim() === "" ? { answered: 0, failed: 0 } : (JSON.parse(line) as Counts);
}

/** Resolves when the answers are as expected. */
export async function untilAnswered(what: string, isSo: (counts: Counts) => boolean): Promise<Counts> {
  let last = await counts();
  const look = async (): Promise<boolean> => {
    last = await counts();
    return isSo(last);
  };
  await until(look, { withinMs: 60_000, what, everyMs: 500 });
  return last;
}

/** Requests while `work` is done and a moment after. */
export async function during(work: () => Promise<void>): Promise<Counts> {
  const before = await counts();
  await work();
  const settled = (await counts()).answered + 200;
  const after = await untilAnswered("requests after it", ({ answered, failed }) => answered + failed >= settled);
  const failed = after.failed - before.failed;
  const reason = failed === 0 ? undefined : after.reason;
  return { answered: after.answered - before.answered, failed, ...(reason !== undefined && { reason }) };
}
