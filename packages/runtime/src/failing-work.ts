/** Failures of background work by its name: counted, and shown on /ready while they last. They never make a service unready. */
import type { Metrics } from "./metrics.ts";
import type { Readiness } from "./readiness.ts";

export class FailingWork {
  readonly #failures;
  readonly #readiness: Pick<Readiness, "setCondition">;

  /** One for each service. */
  constructor(metrics: Metrics, readiness: Pick<Readiness, "setCondition">) {
    this.#readiness = readiness;
    this.#failures = metrics.counter({
      name: "flotilla_background_failures_total",
      help: "Failures of background work, which is begun again with back-off, by the name of the work",
      labels: ["work"],
    });
  }

  /** `work` is one of a closed set of names. */
  noteFailure(work: string, reason: string): void {
    this.#failures.add(1, { work });
    this.#readiness.setCondition(conditionOf(work), `fails and is tried again: ${reason}`, { blocks: false });
  }

  noteRecovery(work: string): void {
    this.#readiness.setCondition(conditionOf(work), undefined);
  }
}

/** Apart from the conditions that the work sets itself. */
function conditionOf(work: string): string {
  return `background work "${work}"`;
}
