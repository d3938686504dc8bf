/** Commands that check and describe objects without a control plane. */
import { define } from "../parse/definition.ts";
import { any, choice, existing, flag, list, textOr } from "../parse/option-kinds.ts";
import { apiConnection, file, namespace } from "./option-groups.ts";

const group = "Objects of files:";

export const validate = define({
  name: "validate",
  progress: "validating",
  group,
  summary: "check objects of files, with line and column of each mistake, without a control plane",
  details:
    "The checks are those of the webhook and the API: schemas, and rules between fields. ConfigMaps with a MeshConfig are checked too; objects of other projects are left out.",
  operands: {},
  options: {
    file,
    output: choice("-o, --output <FORMAT>", "format of the output", ["text", "json", "sarif"]),
  },
  examples: [
    ["validate -f mesh/", "every object of a directory"],
    ["validate -f mesh/ -o sarif", "for CI systems that annotate changes"],
  ],
  exitCodes: { 0: "no object would be refused; there may be warnings", 3: "an object would be refused" },
});

export const analyze = define({
  name: "analyze",
  progress: "analyzing",
  group,
  summary: "find faults of a mesh as a whole: references that lead nowhere, objects that contradict each other",
  details:
    "Objects are those of files, of a cluster (--kube) or of a control plane (--server, or the one of --work-dir where no PATH is given); files come over the others. docs/messages.md has all messages.",
  operands: { paths: any("PATH", "files and directories with objects; - is the standard input") },
  options: {
    namespace,
    kube: flag("--kube", "objects of the cluster of --kubeconfig, else KUBECONFIG or ~/.kube/config"),
    remoteContexts: list(
      "--remote-contexts <CONTEXT>",
      "with --kube, other clusters of the mesh, by contexts of the kubeconfig; else those of the Secrets labelled istio/multiCluster",
    ),
    remoteFiles: list("--remote-files <CLUSTER=PATH>", "files with the Services of another cluster of the mesh"),
    mesh: existing("--mesh <FILE>", "MeshConfig; else that of the ConfigMap of the revision among the objects", "file"),
    revision: textOr("--revision <REVISION>", "revision whose ConfigMap counts: istio, or istio-REVISION", "default"),
    failureThreshold: choice("--failure-threshold <LEVEL>", "lowest level that fails the command", [
      "Error",
      "Warning",
      "Info",
    ]),
    outputThreshold: choice("--output-threshold <LEVEL>", "lowest level that is shown", ["Info", "Warning", "Error"]),
    suppress: list("-S, --suppress <CODE=KIND NAME.NAMESPACE>", "hide a message of objects; * stands for any text"),
    analyzer: list("--analyzer <NAME>", "run this one instead of all"),
    listAnalyzers: flag("-L, --list-analyzers", "list the analyzers"),
    output: choice("-o, --output <FORMAT>", "format of the output", ["text", "json", "sarif"]),
    ...apiConnection,
  },
  examples: [
    ["analyze mesh/", "the objects of a directory"],
    ["analyze mesh/ -o sarif --failure-threshold Warning", "for CI systems that annotate changes"],
    ["analyze --kube", "a cluster"],
    ["analyze --kube --remote-contexts west", "a cluster, its Services compared with those of another"],
    ["analyze mesh/ --kube", "a cluster as it would be with the objects of a directory"],
    ['analyze mesh/ -S "IST0103=Pod *.testing"', "without one message of a namespace's pods"],
  ],
  exitCodes: {
    0: "nothing was found at or above the threshold",
    3: "a file is no YAML, or has something that is no object",
    79: "something was found at or above the threshold",
  },
});

export const schema = define({
  name: "schema",
  progress: "writing the schemas",
  group,
  summary: "write JSON schemas of all kinds, for editors that complete and check fields",
  operands: {},
  options: { out: textOr("--out <DIR>", "directory that is created or written into", "schemas") },
  examples: [["schema --out .vscode/schemas", "one file for each kind, and all.json for any object"]],
});

export const inject = define({
  name: "inject",
  progress: "rendering the templates",
  group,
  summary: "put the sidecar into the workloads of files, as the webhook does with pods, without a control plane",
  details:
    "Pods, Deployments, ReplicaSets, DaemonSets, StatefulSets, Jobs, CronJobs, ReplicationControllers, DeploymentConfigs, Rollouts and lists of them are written with what is injected; everything else is written as it is. Each of --injection-config and --mesh-config may be a ConfigMap as kubectl prints it.",
  operands: {},
  options: {
    file,
    injectionConfig: existing(
      "--injection-config <FILE>",
      "templates, policy and selectors: key `config` of ConfigMap istio-sidecar-injector, or the ConfigMap; else the built-in ones",
      "file",
    ),
    injectionValues: existing("--injection-values <FILE>", "values for the templates: key `values` of it", "file"),
    meshConfig: existing("--mesh-config <FILE>", "MeshConfig, or ConfigMap istio; else the defaults", "file"),
    namespace,
    revision: textOr("--revision <REVISION>", "revision of the control plane", "default"),
    withoutNativeSidecars: flag(
      "--without-native-sidecars",
      "the proxy as an ordinary container, for nodes before 1.33",
    ),
  },
  examples: [
    ["inject -f deployment.yaml | kubectl apply -f -", "a Deployment with its sidecar"],
    ["inject -f app/ --injection-config injector.yaml --mesh-config istio.yaml", "as an installation injects"],
  ],
  exitCodes: { 0: "everything is written", 3: "a pod cannot be injected; nothing is written" },
});
