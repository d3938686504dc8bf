/**
 * Writes into Services, ServiceEntries and WorkloadEntries which waypoint they are bound to, or why they are not, and into
 * AuthorizationPolicies who enforces them: istiod's conditions, only where they differ from what stands there.
 */
import { type AmbientCondition, ambientConditionTypes } from "@flotilla/ambient";
import { KubeError } from "@flotilla/kube-api";
import type { JsonObject } from "@flotilla/model";
import { delay, TimeSlice } from "@flotilla/runtime";
import {
  type ClusterObject,
  ClusterObjects,
  type ClusterObjectsOptions,
  type Condition,
  keyOf,
  pathOf,
} from "./cluster-objects.ts";
import { meshSettings, WantedConditions } from "./wanted-conditions.ts";

export interface AmbientStatusOptions extends ClusterObjectsOptions {
  /** MeshConfig as it is now; undefined while it is not known. */
  readonly mesh: () => JsonObject | undefined;
  readonly writesPerSecond: number;
  /** True where ztunnels are sent dry-run policies. */
  readonly sendsDryRun: boolean;
  readonly nowMs: () => number;
}

/** API version and kind of what is written to; of Istio's kinds the list of conditions has one owner, who writes all of it. */
const written = {
  services: { apiVersion: "v1", kind: "Service", isShared: true },
  entries: { apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", isShared: false },
  workloadEntries: { apiVersion: "networking.istio.io/v1", kind: "WorkloadEntry", isShared: false },
  policies: { apiVersion: "security.istio.io/v1", kind: "AuthorizationPolicy", isShared: false },
} as const;

type Written = keyof typeof written;
const collections = Object.keys(written) as readonly Written[];

const fieldManager = "flotilla-ambient-status";
/** Changes that come together are looked at once. */
const gatherMs = 200;
/** Changes of MeshConfig cause no event here: it is read again after this. */
const againMs = 10_000;

interface Behind {
  readonly collection: Written;
  readonly object: ClusterObject;
  readonly conditions: readonly AmbientCondition[];
}

export class AmbientStatus {
  readonly #options: AmbientStatusOptions;
  readonly #objects: ClusterObjects;

  constructor(options: AmbientStatusOptions) {
    this.#options = options;
    this.#objects = new ClusterObjects(options);
  }

  /** Runs until `stop` fires: while this process has the duty. */
  async run(stop: AbortSignal): Promise<void> {
    await Promise.all([this.#objects.run(stop), this.#write(stop)]);
  }

  async #write(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#objects.changes.wait(stop, againMs);
      await delay(gatherMs, stop);
      const mesh = this.#options.mesh();
      if (stop.aborted || mesh === undefined || !this.#objects.isKnown) continue;
      for (const behind of await this.#behind(mesh)) {
        if (stop.aborted) return;
        await this.#writeOne(behind, stop);
      }
    }
  }

  async #behind(mesh: JsonObject): Promise<readonly Behind[]> {
    const wanted = new WantedConditions(this.#objects, {
      ...meshSettings(mesh),
      sendsDryRun: this.#options.sendsDryRun,
    });
    const timeSlice = new TimeSlice();
    const behind: Behind[] = [];
    for (const collection of collections)
      for (const object of this.#objects.all(collection)) {
        const conditions = wanted.of(collection, object);
        if (conditions !== undefined && !isWritten(object, conditions)) behind.push({ collection, object, conditions });
        if (timeSlice.isDue) await timeSlice.yield();
      }
    return behind;
  }

  async #writeOne({ collection, object, conditions }: Behind, stop: AbortSignal): Promise<void> {
    const { api, log, writesPerSecond } = this.#options;
    const { kind, apiVersion, isShared } = written[collection];
    const { name = "", namespace = "", resourceVersion = "" } = object.metadata;
    const others = isShared ? [] : conditionsOf(object).filter(({ type }) => !ambientConditionTypes.has(type));
    const body = {
      ...{ apiVersion, kind },
      // A concurrent writer keeps its changes: the object is processed again with them.
      metadata: { name, namespace, resourceVersion },
      status: { conditions: [...others, ...conditions.map((one) => this.#stamped(object, one, isShared))] },
    };
    try {
      await api.apply(`${pathOf(collection, object)}/status`, body, { fieldManager, force: true });
      log.debug("ambient conditions of an object written", { kind, object: keyOf(object) });
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      // After any other reason it is tried again with the next change, or when MeshConfig is looked at.
      if (error.code !== "KUBE_CONFLICT")
        log.warn("ambient conditions of an object not written", { kind, object: keyOf(object), error });
    }
    await delay(1_000 / writesPerSecond, stop);
  }

  #stamped({ metadata, status }: ClusterObject, condition: AmbientCondition, isShared: boolean): Condition {
    const known = status?.conditions?.find(({ type }) => type === condition.type);
    const isSame = known?.status === condition.status && known.lastTransitionTime !== undefined;
    const lastTransitionTime = isSame
      ? known.lastTransitionTime
      : new Date(this.#options.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
    const { generation = 0 } = metadata;
    return { ...condition, lastTransitionTime, ...(!isShared && { observedGeneration: generation }) };
  }
}

function conditionsOf({ status }: ClusterObject): readonly Condition[] {
  return status?.conditions ?? [];
}

function isWritten(object: ClusterObject, conditions: readonly AmbientCondition[]): boolean {
  const text = ({ type, status, reason = "", message = "" }: Condition) =>
    JSON.stringify([type, status, reason, message]);
  const found = conditionsOf(object).filter(({ type }) => ambientConditionTypes.has(type));
  return found.map(text).sort().join() === conditions.map(text).sort().join();
}
