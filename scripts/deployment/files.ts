/** The deployment files as data. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";

/** Called for each thing that is checked; the sentence describes the problem when it is not so. */
export type Check = (isSo: boolean, problem: string) => void;

/** Text of a file of the project by its path there. */
export type Read = (path: string) => string;

export interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly ports?: readonly { readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
}
interface Probe {
  readonly httpGet?: { readonly port: number };
  readonly exec?: { readonly command: readonly string[] };
  readonly timeoutSeconds?: number;
}
export interface PodSpec {
  readonly securityContext?: { readonly runAsUser?: number };
  readonly serviceAccountName?: string;
  readonly shareProcessNamespace?: boolean;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly {
    readonly name: string;
    readonly configMap?: { readonly name: string };
    readonly emptyDir?: object;
  }[];
}
export interface KubernetesObject {
  readonly file: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly ports?: readonly { readonly port: number }[];
    readonly selector?: Selector;
    readonly podSelector?: Selector;
    readonly ingress?: readonly {
      readonly from?: readonly { readonly podSelector: Selector }[];
      readonly ports: readonly { readonly port: number }[];
    }[];
  };
}
export type Labels = Readonly<Record<string, string>>;
export interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[];
}

export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
}
export interface ComposeService {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly build?: { readonly args?: Readonly<Record<string, string>> };
  readonly entrypoint?: readonly string[];
  readonly volumes?: readonly (string | ComposeMount)[];
  readonly tmpfs?: readonly string[];
  readonly profiles?: readonly string[];
  readonly ports?: readonly string[];
  readonly user?: string;
  readonly pid?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly aliases?: readonly string[] }>>;
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
}
export interface ComposeMount {
  readonly type: string;
  readonly source: string;
  readonly target: string;
  readonly bind?: { readonly create_host_path?: boolean };
}

/** Where k8s/base puts the control plane. */
export const systemNamespace = "istio-system";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export const readProject: Read = (path) => readFileSync(join(root, path), "utf8");

export function readCompose(read: Read): Compose {
  return parse(read("docker-compose.yml"), { merge: true }) as Compose;
}

/** The objects in the files of a directory below k8s/, without what only kustomize reads. */
export function readObjects(read: Read, directory: string): readonly KubernetesObject[] {
  const files = globSync("*.yaml", { cwd: join(root, directory) }).filter((file) => file !== "kustomization.yaml");
  return files.sort().flatMap((file) =>
    parseAllDocuments(read(`${directory}/${file}`).replaceAll("$(POD_NAMESPACE)", systemNamespace)).map((document) => ({
      ...(document.toJS() as Omit<KubernetesObject, "file">),
      file: `${directory}/${file}`,
    })),
  );
}

/** The source of a program of the image; undefined for other words of a command. */
export function programOf(word: string): string | undefined {
  return /^(services|packages)\/.*\.[jt]s$/.test(word) ? word.replace(/\.js$/, ".ts") : undefined;
}

/** `--name=value` of a command. */
export function optionOf(args: readonly string[], name: string): string | undefined {
  const start = `--${name}=`;
  return args.find((arg) => arg.startsWith(start))?.slice(start.length);
}

/** Networks that a service is on, with the names it has there. */
export function networksOf({ networks = [] }: ComposeService): ReadonlyMap<string, readonly string[]> {
  if (Array.isArray(networks)) return new Map((networks as readonly string[]).map((name) => [name, []]));
  const named = networks as Readonly<Record<string, { readonly aliases?: readonly string[] }>>;
  return new Map(Object.entries(named).map(([name, { aliases = [] }]) => [name, aliases]));
}
