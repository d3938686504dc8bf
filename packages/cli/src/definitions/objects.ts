/** Commands that read and write the objects of the mesh over the API of config-controller. */
import { isIstioKind, kinds } from "@flotilla/kinds";
import { define } from "../parse/definition.ts";
import { any, flag, optional, required } from "../parse/option-kinds.ts";
import {
  allNamespaces,
  apiConnection,
  dryRun,
  file,
  force,
  namespace,
  objectOutput,
  output,
  selector,
} from "./option-groups.ts";

const group = "Objects of the mesh:";
/** Kinds that people write for the mesh, for shells to complete; others are shown as well. */
const written = kinds.filter((kind) => isIstioKind(kind) || kind.group.endsWith("networking.k8s.io"));
const plurals = [...new Set([...written.map(({ plural }) => plural), "services", "namespaces"])];

export const apply = define({
  name: "apply",
  progress: "writing the objects",
  group,
  summary: "write objects into the mesh, all of them or none",
  operands: {},
  options: { file, namespace, dryRun, force, ...apiConnection },
  examples: [
    ["apply -f mesh/", "every object of a directory"],
    ["apply -f route.yaml --dry-run", "validate without a change"],
  ],
});

export const get = define({
  name: "get",
  progress: "reading the objects",
  group,
  summary: "show objects in force, of whatever source",
  operands: {
    kind: { ...required("KIND", "kind, plural or short name: VirtualService, virtualservices, vs"), values: plurals },
    names: any("NAME", "names of objects; all without one"),
  },
  options: { ...objectOutput, namespace, allNamespaces, selector, ...apiConnection },
  examples: [
    ["get vs -A", "the VirtualServices of all namespaces"],
    ["get dr reviews ratings -n shop -o yaml", "two DestinationRules in full"],
  ],
});

export const deleteObjects = define({
  name: "delete",
  progress: "deleting the objects",
  group,
  summary: "remove objects from the mesh, all of them or none",
  operands: {
    kind: { ...optional("KIND", "kind, plural or short name, instead of -f"), values: plurals },
    names: any("NAME", "names of objects"),
  },
  options: {
    file,
    namespace,
    dryRun,
    ignoreNotFound: flag("--ignore-not-found", "succeed where an object is not there"),
    ...apiConnection,
  },
  examples: [
    ["delete -f route.yaml", "the objects of a file"],
    ["delete vs reviews -n shop", "one by name"],
  ],
});

export const diff = define({
  name: "diff",
  progress: "comparing the objects",
  group,
  summary: "show what apply would change, or what differs between two generations",
  operands: { generations: any("GENERATION", "two generations, as history lists them, instead of -f") },
  options: { file, namespace, ...output, ...apiConnection },
  examples: [
    ["diff -f mesh/", "between the mesh and a directory"],
    ["diff 12 15", "between two generations of the configuration"],
  ],
  exitCodes: { 0: "nothing differs", 1: "something differs", 4: "no answer, or the comparison failed" },
  failure: 4,
});
