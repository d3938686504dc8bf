/** Pushes and certificates over the last hour, from the metrics of the replicas, which are for everybody: read once for all callers. */
import type { PushFigures, PushSample } from "@flotilla/console/contract";
import { type BucketSums, bucketsOf, delay, type MetricSums, quantileOf, sumsOf } from "@flotilla/runtime";
import type { Services } from "../upstream/services.ts";

/** Issued certificates between two readings. */
export interface IssuedSample {
  readonly at: string;
  readonly issued: number;
  readonly failed: number;
}

interface Reading {
  readonly sums: MetricSums;
  readonly buckets: BucketSums;
}

interface KeptSample extends PushSample {
  readonly buckets: BucketSums;
}

const everyMs = 15_000;
const keptSamples = 240;
const convergence = "pilot_proxy_convergence_time";
const issuedName = "citadel_server_success_cert_issuance_count";
const failedNames = [
  "citadel_server_csr_sign_err_count",
  "citadel_server_authentication_failure_count",
  "citadel_server_csr_parsing_err_count",
];

export class MetricWatch {
  readonly stepMs = everyMs;
  readonly #services: Pick<Services, "all">;
  readonly #before = new Map<string, Reading>();
  #pushes: readonly KeptSample[] = [];
  #issued: readonly IssuedSample[] = [];
  #wasted: number | undefined;

  constructor(services: Pick<Services, "all">) {
    this.#services = services;
  }

  issued(): readonly IssuedSample[] {
    return this.#issued;
  }

  pushes(): PushFigures {
    const all = joined(this.#pushes.map(({ buckets }) => buckets));
    return {
      samples: this.#pushes.map(({ buckets: _, ...sample }) => sample),
      ...{ stepMs: this.stepMs, ...quantiles(all) },
      ...(this.#wasted !== undefined && { wastedShare: this.#wasted }),
    };
  }

  /** Runs until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.read(new Date());
      await delay(everyMs, stop);
    }
  }

  /** The growth since the previous reading; a replica that is read for the first time, or began anew, counts from then on. */
  async read(now: Date): Promise<void> {
    const [xds, ca] = await Promise.all([this.#grown("xds-server"), this.#grown("ca")]);
    const sum = (all: readonly Reading[], ...names: readonly string[]) =>
      all.reduce((total, { sums }) => total + names.reduce((of, name) => of + (sums.get(name) ?? 0), 0), 0);
    const at = now.toISOString();
    if (xds.grown.length > 0) {
      const buckets = joined(xds.grown.map((one) => one.buckets));
      const sample: KeptSample = {
        ...{ at, buckets, ...quantiles(buckets) },
        pushes: sum(xds.grown, "pilot_xds_pushes"),
        bytes: sum(xds.grown, "pilot_xds_config_size_bytes_sum"),
        rejections: sum(xds.grown, "pilot_total_xds_rejects"),
      };
      this.#pushes = [...this.#pushes, sample].slice(-keptSamples);
    }
    const ratios = xds.now.flatMap(({ sums }) => sums.get("flotilla_xds_wasted_push_ratio") ?? []);
    if (ratios.length > 0) this.#wasted = ratios.reduce((total, one) => total + one, 0) / ratios.length;
    if (ca.grown.length > 0) {
      const sample = { at, issued: sum(ca.grown, issuedName), failed: sum(ca.grown, ...failedNames) };
      this.#issued = [...this.#issued, sample].slice(-keptSamples);
    }
  }

  async #grown(
    service: "xds-server" | "ca",
  ): Promise<{ readonly now: readonly Reading[]; readonly grown: readonly Reading[] }> {
    const answers = await this.#services.all<string>(service, { path: "/metrics", isText: true });
    const read = answers.flatMap((answer) => {
      if (!answer.isAnswered) return [];
      const now: Reading = { sums: sumsOf(answer.value), buckets: bucketsOf(answer.value, convergence) };
      const key = `${service} ${answer.replica}`;
      const before = this.#before.get(key);
      this.#before.set(key, now);
      return [{ now, before }];
    });
    return {
      now: read.map(({ now }) => now),
      grown: read.flatMap(({ now, before }) => (before === undefined ? [] : [difference(before, now)])),
    };
  }
}

function difference(before: Reading, now: Reading): Reading {
  return { sums: grownBy(before.sums, now.sums), buckets: grownBy(before.buckets, now.buckets) };
}

function grownBy<Key>(before: ReadonlyMap<Key, number>, now: ReadonlyMap<Key, number>): ReadonlyMap<Key, number> {
  return new Map([...now].map(([key, value]) => [key, Math.max(0, value - (before.get(key) ?? 0))]));
}

function joined(all: readonly BucketSums[]): BucketSums {
  const sums = new Map<number, number>();
  for (const buckets of all) for (const [bound, count] of buckets) sums.set(bound, (sums.get(bound) ?? 0) + count);
  return sums;
}

function quantiles(buckets: BucketSums): { readonly p50Ms?: number; readonly p99Ms?: number } {
  const [p50, p99] = [quantileOf(buckets, 0.5), quantileOf(buckets, 0.99)];
  return { ...(p50 !== undefined && { p50Ms: p50 * 1_000 }), ...(p99 !== undefined && { p99Ms: p99 * 1_000 }) };
}
