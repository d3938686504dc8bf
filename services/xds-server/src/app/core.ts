/**
 * The pure core of xds-server: changes in, resources out, no sockets and no clock. The server, the
 * conformance runner and the benchmarks drive the same one.
 */
import { type Finding, Graph, type Observation } from "@flotilla/incremental";
import type { Change, ConfigKey, Proxy } from "@flotilla/model";
import type { MeshConfig } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type { NameSet, ResourceSet, ResourceSlice } from "@flotilla/xds";
import type { EncodedResource } from "../generate/encode/encoded.ts";
import { type ResourceSetQueries, resourceSetQueries } from "../generate/encode/generator.ts";
import { generators } from "../generate/index.ts";
import { createGeneratorRegistry } from "../generate/registry.ts";
import { envoyFilterStatus } from "../generate/select/patch-outcomes.ts";
import { decodeSpec } from "../snapshot/config-specs.ts";
import { defaultFeatures, type Features, featureNames } from "../snapshot/features.ts";
import { rowIndexes } from "../snapshot/indexes/index.ts";
import { defaultMesh } from "../snapshot/mesh.ts";
import { proxyStanding } from "../snapshot/proxy-targets.ts";
import { keys } from "../snapshot/row-index.ts";
import type { Subject } from "../snapshot/subject.ts";
import type { ViewQuery } from "../snapshot/view.ts";
import { type Refusal, World } from "../snapshot/world.ts";
import { type InputObject, inputObjects } from "./input-objects.ts";

export type { ResourceSet } from "@flotilla/xds";
export type { EncodedResource } from "../generate/encode/encoded.ts";
export type { Generator } from "../generate/encode/generator.ts";
export type { Refusal } from "../snapshot/world.ts";

export interface CoreOptions {
  /** Those that are not given have their defaults. */
  readonly features?: Partial<Features>;
}

export class Core {
  readonly #graph = new Graph<Subject>();
  readonly #world = new World(this.#graph, { indexes: rowIndexes, decode: decodeSpec });
  readonly #registry = createGeneratorRegistry(generators);
  readonly #sets = new Map<object, ResourceSetQueries>();

  constructor({ features = {} }: CoreOptions = {}) {
    for (const name of featureNames) {
      const value = features[name];
      if (value !== undefined) this.#graph.set(keys.feature(name), value);
    }
  }

  /** Applies changes in order; those that cannot be applied leave their object as it was. */
  apply(changes: readonly Change[]): readonly Refusal[] {
    return this.#world.apply(changes);
  }

  /** The facts about a proxy that computations may read, as the world is now. */
  subjectOf(proxy: Proxy): Subject {
    return { proxy, ...this.#graph.evaluate(proxyStanding, undefined, { proxy, targets: [] }) };
  }

  /** `onStale` is called when `subjectOf` may have another answer for the proxy. */
  observeSubject(proxy: Proxy, onStale: () => void): Observation<Subject> {
    const standing = this.#graph.observe(proxyStanding, undefined, { proxy, targets: [] }, onStale);
    let of = standing.value;
    let subject: Subject = { proxy, ...of };
    return {
      get value() {
        if (of !== standing.value) {
          of = standing.value;
          subject = { proxy, ...of };
        }
        return subject;
      },
      ...{ identity: standing.identity, again: standing.again, release: standing.release },
    };
  }

  /** Undefined where the type is not served to such a proxy; otherwise the way in which it is subscribed to. */
  serves({ proxy }: Subject, typeUrl: string): "wildcard" | "named" | undefined {
    const generator = this.#registry.find(proxy, typeUrl);
    if (generator === undefined) return undefined;
    return (generator.names ?? generator.slices) === undefined ? "named" : "wildcard";
  }

  /** The resources of a type for a proxy, up to date; `names` undefined asks for all of them. */
  resources(subject: Subject, typeUrl: string, names?: NameSet): ResourceSet | undefined {
    const queries = this.#queries(subject, typeUrl);
    if (queries === undefined) return undefined;
    if (names === undefined) return this.#graph.evaluate(queries.all, undefined, subject);
    return this.#graph.evaluate(queries.named, names.key, subject);
  }

  /** The same, kept and watched. Proxies with equal views get the identical set. */
  observe(
    subject: Subject,
    typeUrl: string,
    names: NameSet | undefined,
    onStale: () => void,
  ): Observation<ResourceSet> | undefined {
    const queries = this.#queries(subject, typeUrl);
    if (queries === undefined) return undefined;
    if (names === undefined) return this.#graph.observe(queries.all, undefined, subject, onStale);
    return this.#graph.observe(queries.named, names.key, subject, onStale);
  }

  /** All resources of a type, kept until released; computed and yielded slice by slice, so that other work may run after each. */
  *observeInSteps(subject: Subject, typeUrl: string): Generator<ResourceSlice, Disposable | undefined> {
    const queries = this.#queries(subject, typeUrl);
    if (queries === undefined) return undefined;
    const ignore = (): void => undefined;
    using slices = new DisposableStack();
    for (const text of this.#graph.evaluate(queries.sliceTexts, undefined, subject)) {
      const slice = slices.adopt(this.#graph.observe(queries.slice, text, subject, ignore), (one) => one.release());
      yield slice.value.content;
    }
    const all = this.#graph.observe(queries.all, undefined, subject, ignore);
    return { [Symbol.dispose]: () => all.release() };
  }

  /** Defaults included. */
  get mesh(): MeshConfig {
    return this.#graph.get(keys.mesh) ?? defaultMesh();
  }

  /** A result of the snapshot for a proxy, for pages that show it. */
  read<Result>(query: ViewQuery<undefined, Result>, subject: Subject): Result {
    return this.#graph.evaluate(query, undefined, subject);
  }

  /** Conflicts and errors found in what is kept. */
  findings(): readonly Finding[] {
    return this.#graph.findings().filter(({ metric }) => metric !== envoyFilterStatus);
  }

  /** Outcomes of EnvoyFilter patches in the cached resources; undefined unless PILOT_ENVOY_FILTER_STATS is on. */
  patchOutcomes(): readonly Finding[] | undefined {
    const isOn = this.#graph.get(keys.feature("envoyFilterStats")) ?? defaultFeatures.envoyFilterStats;
    if (!isOn) return undefined;
    return this.#graph.findings().filter(({ metric }) => metric === envoyFilterStatus);
  }

  /** The inputs that one resource of a proxy was computed from. */
  explain(subject: Subject, typeUrl: string, name: string): readonly string[] {
    const generator = this.#registry.find(subject.proxy, typeUrl);
    return generator === undefined ? [] : this.#graph.inputsOf(generator.resource, name, subject);
  }

  /** The objects behind one of those inputs. */
  objectsOf(input: string): readonly InputObject[] {
    return inputObjects(this.#graph, input);
  }

  /**
   * The watched results, by identity, that the object has a part in, a set for each of its inputs; undefined when that is too much
   * of everything to be sent.
   */
  resultsFrom(key: ConfigKey): readonly ReadonlySet<object>[] | undefined {
    const sets = this.#world.inputsOf(key).map((input) => this.#graph.watchedFrom(input));
    return sets.every((set) => set !== undefined) ? sets : undefined;
  }

  /** One resource of a proxy, whether it asks for it or not. */
  resource(subject: Subject, typeUrl: string, name: string): EncodedResource | undefined {
    const generator = this.#registry.find(subject.proxy, typeUrl);
    return generator === undefined ? undefined : this.#graph.evaluate(generator.resource, name, subject);
  }

  stats(): ReturnType<Graph<Subject>["stats"]> {
    return this.#graph.stats();
  }

  #queries({ proxy }: Subject, typeUrl: string): ResourceSetQueries | undefined {
    const generator = this.#registry.find(proxy, typeUrl);
    if (generator === undefined) return undefined;
    let queries = this.#sets.get(generator);
    if (queries === undefined) {
      queries = resourceSetQueries(generator);
      this.#sets.set(generator, queries);
    }
    return queries;
  }
}
