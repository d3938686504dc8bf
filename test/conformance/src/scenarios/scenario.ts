/** A scenario's files: an input, its proxies, and what each proxy is to receive after each step. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, KubeObject } from "@flotilla/model";
import type { MeshStep } from "@flotilla/registry";
import { parseAllDocuments, type Scalar, visit } from "yaml";

export interface ScenarioProxy {
  readonly name: string;
  readonly type: string;
  readonly id: string;
  readonly cluster: string;
  readonly locality?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly grpcTargets?: readonly string[];
}

export interface Scenario {
  readonly group: string;
  readonly name: string;
  readonly proxies: readonly ScenarioProxy[];
  /** The control plane's settings by Istio's names. */
  readonly env: Readonly<Record<string, string>>;
  readonly stages: readonly Stage[];
}

export interface Stage {
  /** Empty for the initial state. */
  readonly title: string;
  readonly step: MeshStep;
  readonly golden: string;
}

interface ScenarioFile {
  readonly mesh?: JsonObject;
  readonly networks?: JsonObject;
  readonly env?: Readonly<Record<string, string>>;
  readonly steps?: readonly string[];
  readonly proxies: readonly ScenarioProxy[];
}

export function scenarioGroups(root: string): readonly string[] {
  return folders(root);
}

/** `wanted` names groups or `group/name`; empty means all. */
export function loadScenarios(root: string, wanted: readonly string[]): readonly Scenario[] {
  return folders(root).flatMap((group) =>
    folders(join(root, group))
      .filter((name) => existsSync(join(root, group, name, "scenario.yaml")))
      .filter((name) => wanted.length === 0 || wanted.includes(group) || wanted.includes(`${group}/${name}`))
      .map((name) => loadScenario(root, group, name)),
  );
}

function loadScenario(root: string, group: string, name: string): Scenario {
  const folder = join(root, group, name);
  const [file] = documents(join(folder, "scenario.yaml")) as unknown as readonly ScenarioFile[];
  if (file === undefined) throw new Error(`${folder}/scenario.yaml is empty`);
  const input = readdirSync(join(folder, "input"))
    .sort()
    .flatMap((name) => objects(join(folder, "input", name)));
  const initial: Stage = {
    title: "",
    step: { put: input, mesh: file.mesh ?? {}, networks: { networks: file.networks ?? {} } },
    golden: join(folder, "golden"),
  };
  const later = (file.steps ?? []).map((title) => loadStage(join(folder, "steps", title), title));
  return { group, name, proxies: file.proxies, env: file.env ?? {}, stages: [initial, ...later] };
}

function loadStage(folder: string, title: string): Stage {
  const read = (name: string) => (existsSync(join(folder, name)) ? objects(join(folder, name)) : []);
  const [mesh] = read("mesh.yaml") as unknown as readonly JsonObject[];
  return {
    title,
    step: { put: read("apply.yaml"), delete: read("delete.yaml"), ...(mesh && { mesh }) },
    golden: join(folder, "golden"),
  };
}

/** What does not say how old it is, is as old as all others that do not. */
const unsaidAge = "2026-01-01T00:00:00Z";

function objects(path: string): readonly KubeObject[] {
  return documents(path).map((object) =>
    object.metadata === undefined || object.metadata.creationTimestamp !== undefined
      ? object
      : { ...object, metadata: { ...object.metadata, creationTimestamp: unsaidAge } },
  );
}

function documents(path: string): readonly KubeObject[] {
  return parseAllDocuments(readFileSync(path, "utf8"))
    .map((document) => {
      visit(document, { Scalar: (_key, scalar) => keepText(scalar) });
      return document.toJS() as KubeObject | null;
    })
    .filter((object) => object !== null);
}

/** The files quote what Python's YAML takes for numbers: hashes such as 058062178 and 19e330099 are none there. */
function keepText(scalar: Scalar): void {
  const { value, source = "", type } = scalar;
  if (typeof value === "number" && type === "PLAIN" && !/^[-+]?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(source))
    scalar.value = source;
}

function folders(path: string): readonly string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}
