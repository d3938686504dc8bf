/** Options that several commands share: one definition each, so that they mean the same everywhere. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { OptionSpec } from "../parse/definition.ts";
import { choice, existing, flag, list, path, text, textOr } from "../parse/option-kinds.ts";

const where = "Control plane:";

export const workDir: OptionSpec<string> = {
  flags: "--work-dir <DIR>",
  help: "directory of the local control plane: keys, logs, data",
  initial: join(homedir(), ".flotilla"),
  initialText: "~/.flotilla",
  env: "FLOTILLA_WORK_DIR",
  parse: (given) => resolve(given),
  values: "directory",
  group: where,
};

/** Where the control plane is that a command asks. */
export const connection = {
  workDir,
  url: {
    ...list("--url <URL>", "http://HOST of a control plane at its default ports, or SERVICE=URL, api=URL"),
    group: where,
  },
  context: {
    ...text("--context <CONTEXT>", "control plane in a cluster: context of a kubeconfig"),
    group: where,
  },
  kubeconfig: {
    ...existing("--kubeconfig <FILE>", "kubeconfig; else KUBECONFIG or ~/.kube/config", "file"),
    group: where,
  },
  meshNamespace: {
    ...textOr("--mesh-namespace <NAMESPACE>", "namespace of the control plane in the cluster", "istio-system"),
    group: where,
  },
} as const;

/** For commands that read and write objects over the API of config-controller. */
export const apiConnection = {
  ...connection,
  server: { ...text("--server <URL>", "address of config-controller's API"), group: where },
  tokenFile: {
    ...existing("--token-file <FILE>", "bearer token for the API; else one of the local issuer is used", "file"),
    group: where,
  },
  rootFile: {
    ...path("--root-file <FILE>", "root certificates that the API is verified by; else those of the work directory"),
    group: where,
  },
} as const;

export const namespace = text("-n, --namespace <NAMESPACE>", 'namespace of objects that name none; else "default"');
export const allNamespaces = flag("-A, --all-namespaces", "objects of all namespaces");
export const selector = text("-l, --selector <SELECTOR>", "label selector: app=web,tier!=db,env in (a,b)");
export const file = {
  ...list("-f, --file <FILE>", "file or directory with objects in YAML or JSON; - is the standard input"),
  values: "file",
} as const;
export const dryRun = flag("--dry-run", "check everything and show the outcome, change nothing");
export const force = flag("--force", "take over fields that another writer owns");

/** Formats of commands that show one thing: `table` is text for people. */
export const output = {
  output: choice("-o, --output <FORMAT>", "format of the output", ["table", "wide", "json", "yaml"]),
  json: flag("--json", "short for -o json"),
} as const;

/** Formats of commands that show objects. */
export const objectOutput = {
  output: choice("-o, --output <FORMAT>", "format of the output", ["table", "wide", "json", "yaml", "name"]),
  json: flag("--json", "short for -o json"),
} as const;
