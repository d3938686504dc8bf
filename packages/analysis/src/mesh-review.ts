/**
 * Analyzes one object as it would be in a mesh: nothing is recorded, so that the objects of the mesh cost no more than their memory, and
 * only the checks of the one object run.
 */
import { type ConfigKey, type ConfigKeyText, configKeyText } from "@flotilla/model";
import type { AnalysisTools, Analyzer, Mesh } from "./analyzer.ts";
import { distinct, type Finding } from "./finding.ts";
import { kindRow, MeshIndex, rowName } from "./mesh-index.ts";
import type { MeshObject } from "./mesh-object.ts";

export interface ReviewLimits {
  /** Objects with more text are not looked at: some checks compare all parts of an object with each other. */
  readonly maxCharacters: number;
  /** No further check begins after this. */
  readonly budgetMs: number;
  /** Checks that read objects of these kinds are left out: their objects are not known yet. */
  readonly unknown?: ReadonlySet<string>;
}

export class MeshReview {
  readonly #index: MeshIndex;
  readonly #analyzers: readonly Analyzer[];
  readonly #kinds: ReadonlySet<string>;
  readonly #tools: AnalysisTools;
  readonly #objects = new Set<ConfigKeyText>();

  constructor(analyzers: readonly Analyzer[], tools: AnalysisTools) {
    this.#analyzers = analyzers;
    this.#tools = tools;
    this.#kinds = new Set(analyzers.flatMap(({ checks, reads }) => [...checks, ...reads]));
    this.#index = new MeshIndex(analyzers.flatMap(({ indexes = [] }) => indexes));
  }

  get size(): number {
    return this.#objects.size;
  }

  /** True where any check reads objects of the kind. */
  concerns(kind: string): boolean {
    return this.#kinds.has(kind);
  }

  put(object: MeshObject): void {
    const key = configKeyText(object.key);
    this.#set(key, object);
    this.#objects.add(key);
  }

  remove(of: ConfigKey): void {
    const key = configKeyText(of);
    this.#set(key, undefined);
    this.#objects.delete(key);
  }

  /** Findings of the object with it in the place of the one of its name. @throws what an analyzer throws */
  review(object: MeshObject, { maxCharacters, budgetMs, unknown }: ReviewLimits): readonly Finding[] {
    const chosen = this.#analyzers.filter(
      ({ checks, reads }) => checks.includes(object.key.kind) && !reads.some((kind) => unknown?.has(kind)),
    );
    if (chosen.length === 0 || JSON.stringify(object.spec.value ?? null).length > maxCharacters) return [];
    const key = configKeyText(object.key);
    const before = this.#index.get(key);
    const end = this.#tools.nowMs() + budgetMs;
    this.#set(key, object);
    try {
      const mesh = this.#mesh();
      const found: Finding[] = [];
      for (const analyzer of chosen) {
        if (this.#tools.nowMs() > end) break;
        found.push(...analyzer.check(object, mesh, this.#tools));
      }
      return distinct(found);
    } finally {
      this.#set(key, before);
    }
  }

  #set(key: ConfigKeyText, object: MeshObject | undefined): void {
    this.#index.set(key, object);
    this.#index.dropEmptyRows();
  }

  #mesh(): Mesh {
    const index = this.#index;
    return {
      find: (kind, namespace, name) => index.get(configKeyText({ kind, namespace, name })),
      all: (kind) => index.members(kindRow(kind)),
      within: (kind, namespace) => index.members(kindRow(kind, namespace)),
      row: ({ name }, at) => index.members(rowName(name, at)),
    };
  }
}
