/** The status of an object: whether it is accepted, since which generation, its warnings, and how far it has come. */

import { type Bus, readValue } from "@flotilla/bus";
import { apiVersionOf, isIstioKind, kindNamed, noEffectReason } from "@flotilla/kinds";
import {
  type Config,
  type ConfigKey,
  causeText,
  configKeyText,
  decodeProgress,
  progressBucket,
  registryKinds,
  type ServiceProgress,
  writerOf,
} from "@flotilla/model";
import type { SourceProblem } from "@flotilla/sources";
import { createValidator, type Problem } from "@flotilla/validation";
import { maxInlineLength, ValidationThread } from "@flotilla/validation/aside";
import type { Conflict } from "../aggregate/aggregate-store.ts";
import type { PublishedConfig, PublishedObject } from "../follow/published-config.ts";
import { manifestOf } from "../store/manifest-of.ts";
import type { Distributions, ObjectDistribution } from "./distributions.ts";

export interface ObjectStatus {
  /** `Kind/namespace/name`. */
  readonly object: string;
  /** `refused`: the last one received is not in force; the rest is of the last good one, if there is one. */
  readonly state: "accepted" | "refused";
  /** Why it is refused. */
  readonly problems: readonly Finding[];
  /** Doubts about it, by itself or beside others. */
  readonly warnings: readonly Finding[];
  /** Why the object in force changes nothing in the mesh; absent when it has an effect. Stands among the warnings too. */
  readonly noEffect?: string;
  /** Of the object in force; absent when none is. */
  readonly inForce?: {
    /** The generation of the mesh that brought it. */
    readonly generation: number;
    readonly by: string;
    /** The account that wrote it over the API; else its source, such as a directory; else the service itself. */
    readonly writer: string;
    /** Where it was read from. */
    readonly source?: string;
    /** Kubernetes' own count of changes of the spec. */
    readonly objectGeneration?: number;
    readonly distribution: ObjectDistribution;
  };
}

export interface Finding {
  readonly field: string;
  readonly reason: string;
}

interface StatusSources {
  readonly published: Pick<PublishedConfig, "get" | "all" | "epoch" | "position">;
  /** Objects that sources reject now. */
  readonly refused: () => readonly SourceProblem[];
  /** Objects that several sources have. */
  readonly conflicts: () => readonly Conflict[];
  readonly distributions: Pick<Distributions, "of" | "findings">;
  readonly progress: Pick<RegistryProgress, "effectOf">;
  /** Where an object in force is read from now: it may have moved since it was published. */
  readonly placeOf?: ((key: ConfigKey) => Config["provenance"]) | undefined;
  /** Findings of the analysis; absent where it is not enabled. */
  readonly analysis?: { of(object: string): readonly Finding[] } | undefined;
}

const maxWarnings = 50_000;

/** Kinds whose objects have a status: those that people write for the mesh. */
export function hasStatus({ kind }: Pick<ConfigKey, "kind">): boolean {
  const row = kindNamed(kind);
  if (row === undefined) return kind === "MeshConfig" || kind === "MeshNetworks";
  return isIstioKind(row) || row.group === "gateway.networking.k8s.io";
}

/** The key of what is named `Kind/namespace/name`; undefined for what is no object that has a status. */
export function statusKey(text: string): ConfigKey | undefined {
  const [kind = "", namespace, name, ...more] = text.split("/");
  if (namespace === undefined || name === undefined || more.length > 0 || !hasStatus({ kind })) return undefined;
  return { kind, namespace, name };
}

export class ObjectStatuses {
  readonly #sources: StatusSources;
  readonly #validate = createValidator();
  readonly #thread = new ValidationThread();
  /** By object and generation: the meaning of an object does not change while it does not. */
  readonly #warnings = new Map<string, { readonly position: number; readonly found: readonly Finding[] }>();

  constructor(sources: StatusSources) {
    this.#sources = sources;
  }

  /** Large objects are validated aside: to be waited for before `of` the same object. */
  async prepare(key: ConfigKey): Promise<void> {
    const inForce = this.#sources.published.get(key);
    if (inForce === undefined || this.#knownWarnings(configKeyText(key), inForce) !== undefined) return;
    const manifest = istioManifest(inForce.config);
    if (manifest === undefined) return;
    const json = JSON.stringify(manifest);
    if (json.length <= maxInlineLength) return;
    const found = await this.#thread.validate({ json, object: { ...manifest } });
    this.#noteWarnings(configKeyText(key), inForce, warningsOf(found));
  }

  /** Undefined when no replica has reported such an object. */
  of(key: ConfigKey): ObjectStatus | undefined {
    const { published, refused } = this.#sources;
    const text = configKeyText(key);
    const wrong = refused().filter(({ object }) => object === text);
    const inForce = published.get(key);
    if (inForce === undefined && wrong.length === 0) return undefined;
    return this.#statusOf(text, inForce, wrong, this.#doubts().get(text) ?? []);
  }

  /** Keys of the objects in force that are wanted. */
  *keys(isWanted: (object: string) => boolean): Generator<ConfigKey> {
    for (const { key } of this.#sources.published.all((one) => hasStatus(one) && isWanted(configKeyText(one))))
      yield key;
  }

  /** Of all objects that are wanted, refused ones included. */
  *all(isWanted: (object: string) => boolean = () => true): Generator<ObjectStatus> {
    const { published, refused } = this.#sources;
    const wrong = Map.groupBy(
      refused().filter(({ object = "" }) => statusKey(object) !== undefined),
      ({ object }) => object ?? "",
    );
    const doubts = this.#doubts();
    for (const inForce of published.all((key) => hasStatus(key) && isWanted(configKeyText(key)))) {
      const text = configKeyText(inForce.key);
      yield this.#statusOf(text, inForce, wrong.get(text) ?? [], doubts.get(text) ?? []);
      wrong.delete(text);
    }
    for (const [text, found] of wrong) if (isWanted(text)) yield this.#statusOf(text, undefined, found, []);
  }

  /** Doubts about objects beside other objects. */
  #doubts(): ReadonlyMap<string, readonly string[]> {
    const { distributions, conflicts } = this.#sources;
    const doubts = new Map(distributions.findings());
    for (const { key, winner, ignored } of conflicts()) {
      const text = configKeyText(key);
      const also = `it is taken from ${winner}, and not from ${ignored.join(", ")}`;
      doubts.set(text, [...(doubts.get(text) ?? []), also]);
    }
    return doubts;
  }

  #statusOf(
    object: string,
    inForce: PublishedObject | undefined,
    wrong: readonly SourceProblem[],
    findings: readonly string[],
  ): ObjectStatus {
    const problems = wrong.map(({ field = "", reason }) => ({ field, reason }));
    const state = problems.length > 0 ? "refused" : "accepted";
    if (inForce === undefined) return { object, state, problems, warnings: [] };
    const noEffect = noEffectReason(inForce.config.key.kind, inForce.config);
    const own = noEffect === undefined ? [] : [{ field: "", reason: noEffect }];
    const beside = findings.map((reason) => ({ field: "", reason }));
    const analysed = this.#sources.analysis?.of(object) ?? [];
    const warnings = [...own, ...this.#warningsOf(object, inForce), ...beside, ...analysed];
    const { config, position, cause } = inForce;
    const provenance = this.#sources.placeOf?.(config.key) ?? config.provenance;
    const source = provenance && [provenance.source, provenance.location].filter(Boolean).join(" ");
    return {
      ...{ object, state, problems, warnings },
      ...(noEffect !== undefined && { noEffect }),
      inForce: {
        ...{ generation: position, by: causeText(cause), writer: writerOf(cause) },
        ...(source !== undefined && { source }),
        ...(config.generation !== undefined && { objectGeneration: config.generation }),
        distribution: this.#distributionOf(inForce),
      },
    };
  }

  /** How far the object in force has come; undefined when none is. */
  distributionOf(key: ConfigKey): ObjectDistribution | undefined {
    const inForce = this.#sources.published.get(key);
    return inForce && this.#distributionOf(inForce);
  }

  #distributionOf({ key, position }: PublishedObject): ObjectDistribution {
    const { published, progress, distributions } = this.#sources;
    const { epoch } = published;
    // Objects that service-controller has not read yet have taken effect nowhere.
    const effect = registryKinds.has(key.kind)
      ? (progress.effectOf(position, epoch) ?? Number.POSITIVE_INFINITY)
      : position;
    return distributions.of({ object: configKeyText(key), position: effect, epoch });
  }

  #warningsOf(object: string, inForce: PublishedObject): readonly Finding[] {
    const known = this.#knownWarnings(object, inForce);
    if (known !== undefined) return known;
    const manifest = istioManifest(inForce.config);
    const found = manifest === undefined ? [] : warningsOf(this.#validate({ ...manifest }));
    this.#noteWarnings(object, inForce, found);
    return found;
  }

  #knownWarnings(object: string, { position }: PublishedObject): readonly Finding[] | undefined {
    const known = this.#warnings.get(object);
    return known?.position === position ? known.found : undefined;
  }

  #noteWarnings(object: string, { position }: PublishedObject, found: readonly Finding[]): void {
    // Objects that are gone leave theirs behind.
    if (this.#warnings.size > maxWarnings) this.#warnings.clear();
    this.#warnings.set(object, { position, found });
  }
}

function istioManifest(config: Config): ReturnType<typeof manifestOf> | undefined {
  const row = kindNamed(config.key.kind);
  return row === undefined || !isIstioKind(row) ? undefined : manifestOf(config, apiVersionOf(row));
}

function warningsOf(problems: readonly Problem[]): readonly Finding[] {
  return problems.filter(({ severity }) => severity === "warning").map(({ field, reason }) => ({ field, reason }));
}

const maxSteps = 1_000;

/**
 * Where in the fleet's sequence the effect of a configuration object lies that service-controller makes services of: after
 * it has read the object's change, and published what follows.
 */
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
    return step && Math.max(position, step.published);
  }
}
