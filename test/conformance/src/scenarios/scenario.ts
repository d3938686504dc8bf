/** The parts of a scenario: a mesh, its proxies, steps, and the resources that istiod sent to each proxy after each of them. */
import type { JsonObject as Fields } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import type { MeshStep } from "@flotilla/registry";

export interface ScenarioProxy {
  readonly name: string;
  readonly type: string;
  readonly id: string;
  readonly cluster: string;
  readonly locality?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Listener names that a gRPC client without a proxy asks for. */
  readonly grpcTargets?: readonly string[];
  /** Secrets are sent on streams that prove the proxy's service account. */
  readonly token?: boolean;
}

/** Resources by name, as canonical JSON with their `@type`. */
export type Resources = ReadonlyMap<string, JsonObject>;
/** Resources by short type (`cds`). A type that is not answered has no entry, an empty answer has an empty one. */
export type Capture = ReadonlyMap<string, Resources>;
/** Captures by the proxy's name. */
export type Expected = ReadonlyMap<string, Capture>;

export interface Stage {
  /** Empty for the initial state. */
  readonly title: string;
  readonly step: MeshStep;
  /** The whole state after the step. */
  readonly expected: Expected;
}

export interface Scenario {
  readonly group: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly features: readonly string[];
  readonly proxies: readonly ScenarioProxy[];
  /** The control plane's settings by Istio's names. */
  readonly env: Readonly<Record<string, string>>;
  readonly mesh: Fields;
  readonly networks: Fields;
  readonly stages: readonly Stage[];
}

/** True where the mesh is that of several clusters. */
export function hasSeveralClusters({ stages }: Scenario): boolean {
  return stages[0]?.step.clusters !== undefined;
}
