/** Finds the objects of the mesh behind an input of the core, for explanations. */
import type { Graph } from "@flotilla/incremental";
import { type Config, configKeyText, type Workload } from "@flotilla/model";
import { type FeatureName, featureSettings } from "../snapshot/features.ts";
import { keys } from "../snapshot/row-index.ts";
import type { Subject } from "../snapshot/subject.ts";

export interface InputObject {
  /** The input whose changes are the object's. */
  readonly input: string;
  /** `Kind/namespace/name`, or what it is instead. */
  readonly object: string;
  /** Where it comes from, if its source reports it. */
  readonly source?: string;
}

/** Inputs that only list the existing objects stand for none; a row stands for each object in it. */
export function inputObjects(graph: Pick<Graph<Subject>, "get">, input: string): readonly InputObject[] {
  const [kind = "", first = "", ...rest] = input.split("/");
  const name = { namespace: first, hostname: rest.join("/") };
  switch (kind) {
    case "config":
    case "row": {
      const value = graph.get<Config | readonly Config[]>(input);
      // A row may hold a part of an object only: the object itself has more.
      const whole = (config: Config) => configObject(graph.get(keys.config(config.key)) ?? config);
      return value === undefined ? [] : [value].flat().map((config) => whole(config as Config));
    }
    case "service":
      return [...(graph.get(keys.service(name))?.values() ?? [])].map(({ definedBy }) =>
        registryObject(graph, input, definedBy),
      );
    case "endpoints": {
      const endpoints = [...(graph.get(keys.endpoints(name))?.values() ?? [])].flat();
      const origins = new Set(endpoints.map(({ definedBy }) => definedBy ?? `endpoints of ${name.hostname}`));
      return [...origins].map((object) => registryObject(graph, input, object));
    }
    case "workload": {
      const workload = graph.get(keys.workload(input.slice("workload/".length)));
      return workload === undefined ? [] : [registryObject(graph, input, workloadText(workload))];
    }
    case "feature":
      return graph.get(input) === undefined ? [] : [{ input, object: `setting ${settingName(first)}` }];
    case "mesh":
      return [{ input, object: "MeshConfig" }];
    case "networks":
      return graph.get(keys.networks) === undefined ? [] : [{ input, object: "MeshNetworks" }];
    default:
      return [];
  }
}

/** As the environment has it; inputs that are no setting of the environment have their own name. */
function settingName(feature: string): string {
  return Object.hasOwn(featureSettings, feature) ? featureSettings[feature as FeatureName].env : feature;
}

function workloadText({ kind, namespace, name }: Workload): string {
  return `${kind}/${namespace}/${name}`;
}

/** Services and endpoints may be made from objects of the configuration, which hold where they come from. */
function registryObject(graph: Pick<Graph<Subject>, "get">, input: string, object: string): InputObject {
  const config = graph.get<Config>(`config/${object}`);
  const { source } = config === undefined ? {} : configObject(config);
  return { input, object, ...(source !== undefined && { source }) };
}

function configObject({ key, provenance }: Config): InputObject {
  const object = configKeyText(key);
  const source = provenance && [provenance.source, provenance.location].filter(Boolean).join(" ");
  return { input: keys.config(key), object, ...(source !== undefined && { source }) };
}
