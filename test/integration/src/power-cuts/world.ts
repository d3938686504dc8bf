/** Stores, mesh and sidecar of a run, ready and agreed; and rounds one after the other. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "@flotilla/proto/testing";
import { until } from "@flotilla/runtime";
import { Mesh } from "./mesh.ts";
import { planRound, type RoundPlan, type RoundResult, runRound, type World } from "./round.ts";
import { Stores } from "./stores.ts";

export interface RunOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Of each round; chosen at random where absent. */
  readonly plans?: readonly RoundPlan[];
  readonly onRound?: (round: number, result: RoundResult) => void;
}

/** Ends with the first round that fails. */
export async function runPowerCuts({ rounds, seed, plans, onRound }: RunOptions): Promise<readonly RoundResult[]> {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-power-cuts-"));
  const random = seededRandom(seed);
  const results: RoundResult[] = [];
  try {
    await using stores = await Stores.start(join(workDir, "servers"), random);
    await using mesh = await Mesh.start(workDir, stores, random);
    await using connected = mesh.sidecar("connected");
    const soon = (what: string) => ({ withinMs: 90_000, what });
    await until(() => connected.served === "endpoint=1", soon("the sidecar to be served"));
    await until(async () => (await mesh.api.routes()) !== undefined, soon("the API"));
    await until(async () => (await mesh.servedRoot()) !== undefined, soon("ca"));
    await until(() => mesh.root.renew(), soon("a certificate"));
    const world: World = { mesh, stores, connected, files: new Map(), written: new Map(), endpoint: 1, random };
    for (let round = 1; round <= rounds; round++) {
      const result = await runRound(world, plans?.[round - 1] ?? planRound(random));
      results.push(result);
      onRound?.(round, result);
      if (result.failure !== undefined) break;
    }
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
  return results;
}
