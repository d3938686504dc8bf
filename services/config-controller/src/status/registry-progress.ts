/**
 * Where in the fleet's sequence the effect of a configuration object lies that service-controller makes services of: after
 * it has read the object's change, and published what follows.
 */
import { type Bus, readValue } from "@flotilla/bus";
import { decodeProgress, progressBucket, type ServiceProgress } from "@flotilla/model";

const maxSteps = 1_000;

export class RegistryProgress {
  #steps: ServiceProgress[] = [];

  /** Runs until `stop` fires. `onStep` is called when something may be different. */
  async watch(bus: Bus, onStep: () => void, stop: AbortSignal): Promise<void> {
    const values = await bus.keyValue(progressBucket);
    for await (const entry of values.watch(stop)) {
      const step = readValue(values, entry, decodeProgress);
      if (step === undefined) continue;
      this.note(step);
      onStep();
    }
  }

  note(step: ServiceProgress): void {
    const last = this.#steps.at(-1);
    if (last !== undefined && last.epoch !== step.epoch) this.#steps = [];
    if (this.#steps.length === 0 || step.read > (last?.read ?? 0)) this.#steps.push(step);
    if (this.#steps.length > 2 * maxSteps) this.#steps = this.#steps.slice(-maxSteps);
  }

  /** Undefined while it has not been read. */
  effectOf(position: number, epoch: string): number | undefined {
    const step = this.#steps.find(({ read, epoch: of }) => of === epoch && read >= position);
    return step && Math.max(position, step.told);
  }
}
