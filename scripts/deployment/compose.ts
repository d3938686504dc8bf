/** References of docker-compose.yml: between services, volumes, networks and files, and settings that no service knows. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Check, type Compose, type ComposeService, networksOf, root } from "./files.ts";

const file = "docker-compose.yml";

export function checkCompose(compose: Compose, known: ReadonlySet<string>, check: Check): void {
  for (const [name, service] of Object.entries(compose.services)) {
    checkReferences(name, service, compose, check);
    const script = service.command?.find((part) => /^(services|packages)\//.test(part));
    if (script === undefined) continue;
    check(existsSync(join(root, script)), `${file}: ${name} runs ${script}, which does not exist`);
    for (const setting of Object.keys(service.environment ?? {}))
      check(known.has(setting), `${file}: ${name} sets ${setting}, which no service reads`);
  }
}

function checkReferences(
  name: string,
  service: ComposeService,
  { services, volumes, networks }: Compose,
  check: Check,
): void {
  const { volumes: mounts = [], depends_on: needs = {}, healthcheck, pid } = service;
  check(healthcheck !== undefined, `${file}: ${name} has no health check`);
  for (const other of Object.keys(needs))
    check(services[other] !== undefined, `${file}: ${name} depends on ${other}, which is no service`);
  for (const mount of mounts) {
    const [source = ""] = mount.replace(/^\$\{[^}]*\}/, "./samples/demo").split(":");
    const exists = source.startsWith(".") ? existsSync(join(root, source)) : source in volumes;
    check(exists, `${file}: ${name} mounts ${source}, which is neither a volume nor a file`);
  }
  for (const network of networksOf(service).keys())
    check(network === "default" || network in networks, `${file}: ${name} is on ${network}, which is no network`);
  const other = pid?.replace(/^service:/, "");
  if (other !== undefined) {
    check(other in services, `${file}: ${name} shares the processes of ${other}, which is no service`);
    check(other in needs, `${file}: ${name} shares the processes of ${other} without waiting for it`);
    check(services[other]?.user === service.user, `${file}: ${name} may not signal ${other}: their users differ`);
  }
}
