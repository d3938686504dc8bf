/**
 * The reads of a computation: the proxy by questions (facets) and the world by lookups. Every read is recorded by the graph underneath, so
 * a view needs no list of what matters to whom.
 */
import type { Context, Failure, Finding, Provenance, Query, QueryArg } from "@flotilla/incremental";
import type { KindReadBy } from "@flotilla/kinds";
import type { Config, Workload } from "@flotilla/model";
import type { MeshConfig } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type { MeshNetworks } from "@flotilla/proto/mesh/v1alpha1/network_pb";
import { defaultFeatures, type FeatureName, type Features } from "./features.ts";
import { ProxyAnswers } from "./proxy-answers.ts";
import type { RowIndex } from "./row-index.ts";
import {
  type AddressUse,
  type EndpointShards,
  keys,
  type ServiceName,
  type ServiceShards,
  type SliceText,
  sliceKeys,
} from "./row-index.ts";
import type { Subject } from "./subject.ts";

type ReadKind = KindReadBy<"xds-server">;

export type ViewQuery<Arg extends QueryArg, Result> = Query<Subject, Arg, Result>;

/**
 * Defines a memoised pure function of a view. Name it after its result; `arg` is part of the memo key.
 * An equal result (`equal`, by default one level deep) does not invalidate readers. `provenance`: which inputs count for its readers.
 */
export function query<Result, Arg extends QueryArg = undefined>(
  name: string,
  compute: (view: View, arg: Arg) => Result,
  equal?: (a: Result, b: Result) => boolean,
  provenance?: Provenance,
): ViewQuery<Arg, Result> {
  return {
    ...{ name, compute: (context, arg) => compute(new View(context), arg) },
    ...(equal && { equal }),
    ...(provenance && { provenance }),
  };
}

export class View {
  readonly #context: Context<Subject>;
  #proxy: ProxyAnswers | undefined;

  constructor(context: Context<Subject>) {
    this.#context = context;
  }

  get proxy(): ProxyAnswers {
    this.#proxy ??= new ProxyAnswers(this.#context);
    return this.#proxy;
  }

  read<Result>(query: ViewQuery<undefined, Result>): Result;
  read<Arg extends QueryArg, Result>(query: ViewQuery<Arg, Result>, arg: Arg): Result;
  read<Arg extends QueryArg, Result>(query: ViewQuery<Arg, Result>, arg?: Arg): Result {
    return this.#context.read(query, arg as Arg);
  }

  /** As `read`: a computation that throws is the failure of this part alone. */
  attempt<Arg extends QueryArg, Result>(query: ViewQuery<Arg, Result>, arg: Arg): Result | Failure {
    return this.#context.attempt(query, arg);
  }

  /** A conflict or error found on the way, with its object; it lives as long as the result it was found for. */
  report(finding: Finding): void {
    this.#context.report(finding);
  }

  /** Defaults included. */
  get mesh(): MeshConfig {
    const mesh = this.#context.input(keys.mesh);
    if (mesh === undefined) throw new Error("[XDS_NO_MESH] the world has no MeshConfig yet");
    return mesh;
  }

  /** A feature switch of the control plane; its default unless it was set. */
  feature<Name extends FeatureName>(name: Name): Features[Name] {
    return this.#context.input(keys.feature(name)) ?? defaultFeatures[name];
  }

  get networks(): MeshNetworks | undefined {
    return this.#context.input(keys.networks);
  }

  /** One object; its spec is the decoded message of its kind. */
  config<Spec>(kind: ReadKind, namespace: string, name: string): Config<Spec> | undefined {
    return this.configOfAnyKind(kind, namespace, name);
  }

  /** All objects of a kind, oldest first. A change of any of them concerns the reader: prefer a row. */
  all<Spec>(kind: ReadKind): readonly Config<Spec>[] {
    return this.allOfAnyKind(kind);
  }

  /** For clients that are served objects as they are, whether or not something is generated from their kind. */
  configOfAnyKind<Spec>(kind: string, namespace: string, name: string): Config<Spec> | undefined {
    return this.#context.input(keys.config({ kind, namespace, name })) as Config<Spec> | undefined;
  }

  /** See `configOfAnyKind`. */
  allOfAnyKind<Spec>(kind: string): readonly Config<Spec>[] {
    return (this.#context.input(keys.allOf(kind)) ?? []) as readonly Config<Spec>[];
  }

  /** The objects of one row of an index, oldest first. */
  row<Spec>(index: RowIndex<Spec>, key: string): readonly Config<Spec>[] {
    return (this.#context.input(keys.row(index.name, key)) ?? []) as readonly Config<Spec>[];
  }

  get serviceNames(): readonly ServiceName[] {
    return this.#context.input(keys.serviceNames) ?? [];
  }

  /** The service as each registry shard has it. */
  serviceShards(name: ServiceName): ServiceShards {
    return this.#context.input(keys.service(name)) ?? new Map();
  }

  servicesByHost(hostname: string): readonly ServiceName[] {
    return this.#context.input(keys.servicesByHost(hostname)) ?? [];
  }

  /** The services of a namespace that may select a workload with this label; each stands in one row only. */
  selectorRow(namespace: string, label: string, value: string): readonly ServiceName[] {
    return this.#context.input(keys.selectorRow(namespace, label, value)) ?? [];
  }

  endpoints(name: ServiceName): EndpointShards {
    return this.#context.input(keys.endpoints(name)) ?? new Map();
  }

  /** By uid. */
  workload(uid: string): Workload | undefined {
    return this.#context.input(keys.workload(uid));
  }

  /** The uids of a namespace's workloads, sorted, in slices: who reads one slice after the other computes those anew that changed. */
  workloadSlices(namespace: string): readonly SliceText[] {
    return this.#context.input(keys.workloadSlices(namespace)) ?? [];
  }

  /** The uids of a namespace's workloads, sorted. */
  workloadsIn(namespace: string): readonly string[] {
    return this.workloadSlices(namespace).flatMap(sliceKeys);
  }

  get workloadNamespaces(): readonly string[] {
    return this.#context.input(keys.workloadNamespaces) ?? [];
  }

  workloadsAt(address: string): readonly string[] {
    return this.#context.input(keys.workloadsAt(address)) ?? [];
  }

  address(address: string): readonly AddressUse[] {
    return this.#context.input(keys.address(address)) ?? [];
  }
}
