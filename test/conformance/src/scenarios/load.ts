/** Loads scenarios, in the project's own form or as folders of captures. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, KubeObject } from "@flotilla/model";
import { parseRules, type Rules } from "@flotilla/xds/compare";
import { readCapturedStage } from "./form/captured-folders.ts";
import { readDocuments } from "./form/documents.ts";
import { isTree, openTree, readStandardMetadata } from "./form/tree.ts";
import type { Expected, Scenario, ScenarioProxy, Stage } from "./scenario.ts";

/** Of the istiod that was recorded, where Flotilla does better by default: docs/decisions/0232. */
const recordedBehaviour = { BACKEND_TLS_FAILS_OPEN: "true" };

interface ScenarioFile {
  readonly title?: string;
  readonly description?: string;
  readonly features?: readonly string[];
  readonly mesh?: JsonObject;
  readonly networks?: JsonObject;
  readonly env?: Readonly<Record<string, string>>;
  readonly steps?: readonly string[];
  readonly proxies: readonly ScenarioProxy[];
}

/** How a folder of scenarios holds expectations and proxies. */
interface Form {
  readonly expected: (folder: string, before: Expected, proxies: readonly string[]) => Expected;
  readonly proxy: (written: ScenarioProxy) => ScenarioProxy;
}

/** Groups and `group/name` of all scenarios in `root`. */
export function scenarioNames(root: string): readonly string[] {
  return groupsOf(root).flatMap((group) => [group, ...namesOf(root, group).map((name) => `${group}/${name}`)]);
}

/** `wanted` names groups or `group/name`; empty means all. */
export function loadScenarios(root: string, wanted: readonly string[]): readonly Scenario[] {
  const form = formOf(root);
  return groupsOf(root).flatMap((group) =>
    namesOf(root, group)
      .filter((name) => wanted.length === 0 || wanted.includes(group) || wanted.includes(`${group}/${name}`))
      .map((name) => loadScenario(form, join(root, group, name), { group, name })),
  );
}

/** The exclusions from the comparison; without a file of rules, none. */
export function readRules(root: string): Rules {
  const file = [join(root, "ignore.txt"), join(root, "shared", "ignore.txt")].find(existsSync);
  return parseRules(file === undefined ? "" : readFileSync(file, "utf8"));
}

function formOf(root: string): Form {
  if (!isTree(root))
    return { expected: (folder, _before, proxies) => readCapturedStage(folder, proxies), proxy: (written) => written };
  const { readStage } = openTree(root);
  const standard = readStandardMetadata(root);
  return {
    expected: readStage,
    proxy: (written) => ({
      ...written,
      metadata: withStandard({ ...standard["all"], ...standard[written.type] }, written.metadata),
    }),
  };
}

/** A null takes a standard field away. */
function withStandard(
  standard: Readonly<Record<string, unknown>>,
  own: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries({ ...standard, ...own }).filter(([, value]) => value !== null));
}

function loadScenario(form: Form, folder: string, place: { readonly group: string; readonly name: string }): Scenario {
  const [file] = readDocuments(join(folder, "scenario.yaml")) as readonly (ScenarioFile | undefined)[];
  if (file === undefined) throw new Error(`${folder}/scenario.yaml is empty`);
  const proxies = file.proxies.map(form.proxy);
  const names = proxies.map(({ name }) => name);
  const { title = "", description = "", features = [], mesh = {}, networks = {}, env: stated = {} } = file;
  const env = { ...recordedBehaviour, ...stated };
  const clusters = clustersOf(join(folder, "clusters"));
  const stages: Stage[] = [
    {
      title: "",
      step: {
        put: objectsIn(join(folder, "input")),
        mesh,
        networks: { networks },
        ...(clusters === undefined ? {} : { clusters }),
      },
      expected: form.expected(folder, new Map(), names),
    },
  ];
  for (const step of file.steps ?? []) {
    const before = stages.at(-1)?.expected ?? new Map();
    stages.push(loadStep(form, join(folder, "steps", step), { title: step, before, proxies: names }));
  }
  return { ...place, title, description, features, proxies, env, mesh, networks, stages };
}

/** Objects of other clusters: a folder for each, by its name. */
function clustersOf(folder: string): Readonly<Record<string, readonly KubeObject[]>> | undefined {
  if (!existsSync(folder)) return undefined;
  return Object.fromEntries(folders(folder).map((name) => [name, objectsIn(join(folder, name))]));
}

/** Of all files of a folder. */
function objectsIn(folder: string): readonly KubeObject[] {
  return readdirSync(folder)
    .sort()
    .flatMap((file) => objects(join(folder, file)));
}

function loadStep(
  form: Form,
  folder: string,
  {
    title,
    before,
    proxies,
  }: { readonly title: string; readonly before: Expected; readonly proxies: readonly string[] },
): Stage {
  const read = (name: string) => (existsSync(join(folder, name)) ? objects(join(folder, name)) : []);
  const [mesh] = read("mesh.yaml") as unknown as readonly JsonObject[];
  return {
    title,
    step: { put: read("apply.yaml"), delete: read("delete.yaml"), ...(mesh && { mesh }) },
    expected: form.expected(folder, before, proxies),
  };
}

/** Objects without a creation time are equally old. */
const defaultCreationTime = "2026-01-01T00:00:00Z";

function objects(path: string): readonly KubeObject[] {
  return (readDocuments(path) as readonly KubeObject[]).map((object) =>
    object.metadata === undefined || object.metadata.creationTimestamp !== undefined
      ? object
      : { ...object, metadata: { ...object.metadata, creationTimestamp: defaultCreationTime } },
  );
}

function groupsOf(root: string): readonly string[] {
  return folders(root).filter((group) => namesOf(root, group).length > 0);
}

function namesOf(root: string, group: string): readonly string[] {
  return folders(join(root, group)).filter((name) => existsSync(join(root, group, name, "scenario.yaml")));
}

function folders(path: string): readonly string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}
