/** Reports what is refused or wrong in part: in the log, the metrics and on the readiness page. */
import type { ClusterRegistries } from "@flotilla/registry";
import { coalesced, delay, type Gauge } from "@flotilla/runtime";
import { ProblemLog } from "@flotilla/sources";
import { type ListedProblem, listProblems } from "../debug/registry-pages.ts";
import type { RegistryService } from "../settings.ts";

type Reporting = Parameters<typeof listProblems>[0][number];

export interface ReportOptions {
  readonly registry: ClusterRegistries;
  readonly refused: Gauge;
}

/** Problems of objects in force are found by a check of all of them after a change: too much for each change. */
const everyMs = 2_000;
/** Problems that change in a source are reported once for all changes that come meanwhile, and behind the change on its way to proxies. */
const reportAfterMs = 100;

/** Sources report what they refuse while they are opened, each as soon as it is added. */
export class ProblemReports {
  readonly #service: RegistryService;
  readonly #options: ReportOptions;
  readonly #known = new ProblemLog();
  readonly #reporting: Reporting[] = [];
  /** Problems may be different now. */
  readonly note: () => void;

  constructor(service: RegistryService, options: ReportOptions) {
    this.#service = service;
    this.#options = options;
    this.note = coalesced(() => this.#report(), reportAfterMs, service.stop);
  }

  add(...reporting: readonly (Reporting | undefined)[]): void {
    this.#reporting.push(...reporting.filter((one) => one !== undefined));
  }

  list(): readonly ListedProblem[] {
    return listProblems(this.#reporting, this.#options.registry);
  }

  #report(): void {
    const { health, log } = this.#service;
    const refused = this.list();
    const { appeared, over } = this.#known.update(refused);
    for (const problem of appeared) log.warn("refused", { ...problem });
    for (const { file, object, reason } of over) log.info("no longer refused", { file, object, reason });
    this.#options.refused.set(refused.length);
    const text = refused.length === 0 ? undefined : `${refused.length} objects or files, see /debug/problems`;
    health.setCondition("refused", text);
  }

  /** Until the service stops. */
  async run(): Promise<void> {
    const { stop } = this.#service;
    while (!stop.aborted) {
      await delay(everyMs, stop);
      if (!stop.aborted) this.#report();
    }
  }
}
