/**
 * Analysis of a mesh that changes. Each check of an object is a query of a graph (packages/incremental), which records the rows and
 * objects that the check reads: a change runs the checks of the changed object and those that read a row it is in.
 */
import { Graph, type InputKey, type Observation, type Query } from "@flotilla/incremental";
import { type ConfigKey, type ConfigKeyText, configKeyText } from "@flotilla/model";
import type { AnalysisTools, Analyzer, Mesh } from "./analyzer.ts";
import { distinct, type Finding, finding } from "./finding.ts";
import { kindRow, MeshIndex, rowName } from "./mesh-index.ts";
import { isSystemNamespace, type MeshObject } from "./mesh-object.ts";

/** An object, or the key of one that is gone. */
export type ObjectChange = { readonly object: MeshObject } | { readonly removed: ConfigKey };

type Subject = undefined;
type Check = Query<Subject, string, readonly Finding[]>;
type Kept = readonly Observation<readonly Finding[]>[];

export class MeshAnalysis {
  readonly #graph = new Graph<Subject>();
  readonly #index: MeshIndex;
  readonly #checks: ReadonlyMap<string, readonly Check[]>;
  readonly #kept = new Map<ConfigKeyText, Kept>();
  readonly #findings = new Map<ConfigKeyText, readonly Finding[]>();
  readonly #stale = new Set<ConfigKeyText>();

  constructor(analyzers: readonly Analyzer[], tools: AnalysisTools) {
    this.#index = new MeshIndex(analyzers.flatMap(({ indexes = [] }) => indexes));
    const checks = new Map<string, Check[]>();
    for (const analyzer of analyzers) {
      const check = checkOf(analyzer, tools);
      for (const kind of analyzer.checks) checks.set(kind, [...(checks.get(kind) ?? []), check]);
    }
    this.#checks = checks;
  }

  /** Brings the findings up to date; returns the objects whose findings may have changed. */
  apply(changes: Iterable<ObjectChange>): ReadonlySet<ConfigKeyText> {
    this.note(changes);
    return this.settle();
  }

  /** Takes changes in; `settle` checks the objects that they concern. */
  note(changes: Iterable<ObjectChange>): void {
    for (const change of changes) {
      const key = configKeyText("object" in change ? change.object.key : change.removed);
      const object = "object" in change ? change.object : undefined;
      this.#index.set(key, object);
      this.#graph.set(objectInput(key), object);
      this.#stale.add(key);
    }
    for (const [row, members] of this.#index.takeTouched()) this.#graph.set(rowInput(row), members);
  }

  /** True where `settle` has nothing left to check. */
  get isSettled(): boolean {
    return this.#stale.size === 0;
  }

  /** Checks at most so many of the objects that changes concern; returns those whose findings may have changed. */
  settle(limit: number = Number.POSITIVE_INFINITY): ReadonlySet<ConfigKeyText> {
    const changed = new Set<ConfigKeyText>();
    for (const key of this.#stale) {
      if (changed.size >= limit) break;
      changed.add(key);
    }
    for (const key of changed) {
      this.#stale.delete(key);
      this.#analyze(key);
    }
    return changed;
  }

  /** The current findings, each once, in the order of objects and fields. */
  findings(): readonly Finding[] {
    return distinct([...this.#findings.values()].flat());
  }

  findingsOf(key: ConfigKey): readonly Finding[] {
    return distinct(this.#findings.get(configKeyText(key)) ?? []);
  }

  /** How many checks have been run: a measure of what changes cost. */
  get computations(): number {
    return this.#graph.stats().computations;
  }

  #analyze(key: ConfigKeyText): void {
    const object = this.#index.get(key);
    if (object === undefined) {
      this.#forget(key);
      return;
    }
    const known = this.#kept.get(key);
    const kept = known?.every((one) => one.again()) === true ? known : this.#observe(key, object, known ?? []);
    this.#kept.set(key, kept);
    this.#findings.set(
      key,
      kept.flatMap(({ value }) => value),
    );
  }

  #observe(key: ConfigKeyText, { key: { kind } }: MeshObject, before: Kept): Kept {
    const fresh = (this.#checks.get(kind) ?? []).map((check) =>
      this.#graph.observe(check, key, undefined, () => this.#stale.add(key)),
    );
    for (const one of before) one.release();
    return fresh;
  }

  #forget(key: ConfigKeyText): void {
    for (const one of this.#kept.get(key) ?? []) one.release();
    this.#kept.delete(key);
    this.#findings.delete(key);
  }
}

function objectInput(key: string): InputKey<MeshObject> {
  return `object ${key}`;
}

function rowInput(row: string): InputKey<readonly MeshObject[]> {
  return row;
}

/** An analyzer as a query by the object's key. */
function checkOf(analyzer: Analyzer, tools: AnalysisTools): Check {
  return {
    name: analyzer.name,
    compute: (context, key) => {
      const object = context.input(objectInput(key));
      if (object === undefined || isSystemNamespace(object.key.namespace)) return [];
      const row = (name: string) => context.input(rowInput(name)) ?? [];
      const mesh: Mesh = {
        find: (kind, namespace, name) => context.input(objectInput(configKeyText({ kind, namespace, name }))),
        all: (kind) => row(kindRow(kind)),
        within: (kind, namespace) => row(kindRow(kind, namespace)),
        row: (index, at) => row(rowName(index.name, at)),
      };
      return checkedBy(analyzer, () => analyzer.check(object, mesh, tools), object);
    },
  };
}

/** A defect of one analyzer is a finding, so that it does not hide what the others find. */
function checkedBy(
  { name: analyzer }: Analyzer,
  check: () => readonly Finding[],
  object: MeshObject,
): readonly Finding[] {
  try {
    return check();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [finding("InternalError", object, undefined, { analyzer, reason })];
  }
}
