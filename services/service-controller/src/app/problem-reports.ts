/** Reports what is refused or wrong in part: in the log, the metrics and on the readiness page. */
import type { ClusterRegistries } from "@flotilla/registry";
import { delay, type Gauge } from "@flotilla/runtime";
import { ProblemLog } from "@flotilla/sources";
import { type ListedProblem, listProblems } from "../debug/registry-pages.ts";
import type { RegistryService } from "../settings.ts";

type Reporting = Parameters<typeof listProblems>[0][number];

export interface ReportOptions {
  readonly registry: ClusterRegistries;
  readonly refused: Gauge;
}

/** What is wrong with objects in force is found by looking at all of them: too much for each change. */
const everyMs = 2_000;

/** Sources report what they refuse while they are opened, each as soon as it is added. */
export class ProblemReports {
  readonly #service: RegistryService;
  readonly #options: ReportOptions;
  readonly #known = new ProblemLog();
  readonly #reporting: Reporting[] = [];

  constructor(service: RegistryService, options: ReportOptions) {
    this.#service = service;
    this.#options = options;
  }

  add(...reporting: readonly (Reporting | undefined)[]): void {
    this.#reporting.push(...reporting.filter((one) => one !== undefined));
  }

  list(): readonly ListedProblem[] {
    return listProblems(this.#reporting, this.#options.registry);
  }

  /** Problems may be different now. */
  note(): void {
    const { health, log } = this.#service;
    const refused = this.list();
    const { appeared, over } = this.#known.update(refused);
    for (const problem of appeared) log.warn("refused", { ...problem });
    for (const { file, object, reason } of over) log.info("refusal is over", { file, object, reason });
    this.#options.refused.set(refused.length);
    const text = refused.length === 0 ? undefined : `${refused.length} objects or files, see /debug/problems`;
    health.setCondition("refused", text);
  }

  /** Until the service stops. */
  async run(): Promise<void> {
    const { stop } = this.#service;
    while (!stop.aborted) {
      await delay(everyMs, stop);
      if (!stop.aborted) this.note();
    }
  }
}
