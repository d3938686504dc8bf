/**
 * What a schema does not see in docker-compose.yml and k8s/: references between services, volumes and files, health
 * ports, and settings that no service knows.
 */
import { existsSync, readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";
import { settingsTables } from "./settings-tables.ts";

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}
interface ComposeService {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly healthcheck?: { readonly test: readonly string[] };
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const problems: string[] = [];
let checked = 0;
const check = (ok: boolean, problem: string) => {
  checked++;
  if (!ok) problems.push(problem);
};
/** Environment names of all services' settings. */
const known: ReadonlySet<string> = new Set(
  Object.values(settingsTables).flatMap((table) => Object.values(table).map(({ env }) => env)),
);

checkCompose(parse(readFileSync(join(root, "docker-compose.yml"), "utf8"), { merge: true }) as Compose);
await checkKubernetes();
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(`${checked - problems.length} passed, ${problems.length} failed\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

function checkCompose({ services, volumes }: Compose): void {
  for (const [
    name,
    { command = [], environment = {}, volumes: mounts = [], depends_on: needs = {}, healthcheck },
  ] of Object.entries(services)) {
    check(healthcheck !== undefined, `docker-compose.yml: ${name} has no health check`);
    for (const other of Object.keys(needs))
      check(services[other] !== undefined, `docker-compose.yml: ${name} depends on ${other}, which is no service`);
    for (const mount of mounts) {
      const [source = ""] = mount.replace(/^\$\{[^}]*\}/, "./samples/demo").split(":");
      const exists = source.startsWith(".") ? existsSync(join(root, source)) : source in volumes;
      check(exists, `docker-compose.yml: ${name} mounts ${source}, which is neither a volume nor a folder`);
    }
    const script = command.find((part) => part.startsWith("services/"));
    if (script === undefined) continue;
    check(existsSync(join(root, script)), `docker-compose.yml: ${name} runs ${script}, which does not exist`);
    for (const setting of Object.keys(environment))
      check(known.has(setting), `docker-compose.yml: ${name} sets ${setting}, which no service reads`);
  }
}

async function checkKubernetes(): Promise<void> {
  const base = join(root, "k8s/base");
  const { resources } = parse(readFileSync(join(base, "kustomization.yaml"), "utf8")) as {
    readonly resources: readonly string[];
  };
  for (const resource of resources) check(existsSync(join(base, resource)), `k8s/base: there is no ${resource}`);
  for await (const file of glob("*.yaml", { cwd: base })) {
    check(file === "kustomization.yaml" || resources.includes(file), `k8s/base: ${file} is not among the resources`);
    for (const document of parseAllDocuments(readFileSync(join(base, file), "utf8")))
      checkObject(file, document.toJS());
  }
}

function checkObject(
  file: string,
  object: { readonly kind?: string; readonly data?: Readonly<Record<string, string>>; readonly spec?: DeploymentSpec },
): void {
  if (object.kind === "ConfigMap") {
    for (const setting of Object.keys(object.data ?? {}))
      check(known.has(setting), `k8s/base/${file}: ${setting} is read by no service`);
  }
  if (object.kind !== "Deployment") return;
  for (const { args = [], ports = [], readinessProbe } of object.spec?.template.spec.containers ?? []) {
    for (const script of args) check(existsSync(join(root, script)), `k8s/base/${file}: there is no ${script}`);
    const probed = readinessProbe?.httpGet?.port;
    check(
      ports.some(({ containerPort }) => containerPort === probed),
      `k8s/base/${file}: the probed port ${probed} is not among the container's ports`,
    );
  }
}

interface DeploymentSpec {
  readonly template: {
    readonly spec: {
      readonly containers: readonly {
        readonly args?: readonly string[];
        readonly ports?: readonly { readonly containerPort: number }[];
        readonly readinessProbe?: { readonly httpGet?: { readonly port: number } };
      }[];
    };
  };
}
