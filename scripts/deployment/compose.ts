/** References of docker-compose.yml: between services, volumes, networks and files, settings that no service has, and the image. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { imagePrograms } from "../bundle/image-programs.ts";
import {
  type Check,
  type Compose,
  type ComposeMount,
  type ComposeService,
  networksOf,
  programOf,
  root,
} from "./files.ts";

const file = "docker-compose.yml";
/** Name, and a version that is one: `node:24` would be another image next month. */
const pinned = /^[a-z0-9/.-]+:v?\d+\.\d+\.\d+/;

export function checkCompose(compose: Compose, known: ReadonlySet<string>, check: Check): void {
  for (const [name, service] of Object.entries(compose.services)) {
    checkReferences(name, service, compose, check);
    checkContainer(name, service, check);
    const program = (service.command ?? []).flatMap((word) => programOf(word) ?? [])[0];
    if (program === undefined) continue;
    check(imagePrograms.includes(program), `${file}: ${name} runs ${program}, which the image does not have`);
    for (const setting of Object.keys(service.environment ?? {}))
      check(known.has(setting), `${file}: ${name} sets ${setting}, which no service reads`);
  }
}

/** Volumes that only some services may mount: each holds a key. `setup` makes the content of all of them. */
const holders: Readonly<Record<string, (name: string, service: ComposeService) => boolean>> = {
  issuer: (name) => name === "issuer",
  ca: (name) => name === "ca",
  seal: (_, { environment = {} }) => environment["SEAL_KEY_FILE"] !== undefined,
  "redis-passwords": (name, { environment = {} }) => name === "redis" || environment["STORE_URL"] !== undefined,
};

/** Each container has the secrets that it needs, and no other's; what all see, they do not change. */
export function checkComposeSecrets({ services }: Compose, check: Check): void {
  for (const [name, service] of Object.entries(services).filter(([other]) => other !== "setup")) {
    const mounts = (service.volumes ?? [])
      .filter((mount) => typeof mount === "string")
      .map((mount) => mount.split(":"));
    const volumes = mounts.map(([source = ""]) => source);
    for (const [volume, isHolder] of Object.entries(holders))
      check(
        volumes.includes(volume) === isHolder(name, service),
        `${file}: ${name} ${volumes.includes(volume) ? "sees" : "does not see"} the volume ${volume}`,
      );
    const tokens = volumes.filter((volume) => volume.startsWith("token-"));
    const proves = service.environment?.["TOKEN_FILE"] !== undefined && name !== "ca";
    const args = service.command ?? [];
    const own = args.includes("certificate") ? name.replace(/-certificate$/, "") : name;
    const expected = proves || args.includes("certificate") ? [`token-${own}`] : [];
    if (name !== "issuer")
      check(
        tokens.join() === expected.join(),
        `${file}: ${name} mounts the tokens ${tokens.join(", ") || "of no service"}`,
      );
    for (const [source, target = "", mode = ""] of mounts)
      if (source === "state" && name !== "ca" && !(name === "issuer" && target.startsWith("/volumes/")))
        check(mode === "ro", `${file}: ${name} may write what all see`);
  }
}

/** Programs that the stage which makes up the image's root names. */
function copiedPrograms(dockerfile: string): readonly string[] {
  const [, from = ""] = dockerfile.split(" AS base\n");
  const [stage = ""] = from.split("\nFROM ");
  return [...stage.matchAll(/(?<![\w/])\/(?:[\w.-]+\/)*s?bin\/[\w.-]+/g)].map(([program]) => program);
}

/** One service builds the image, under the project's version; the others take it. */
export function checkComposeImages({ services }: Compose, version: string, dockerfile: string, check: Check): void {
  const builders = Object.entries(services).filter(([, { build }]) => build !== undefined);
  check(builders.length === 1, `${file}: the image is built by ${builders.map(([name]) => name).join(", ")}`);
  const [, last = ""] = dockerfile.split("\nFROM scratch\n");
  const copied = [...last.matchAll(/^COPY (.*)$/gm)].map(([, what]) => what).join();
  const isMinimal = copied === "--from=base /image /,--from=build /bundle /flotilla" && !/^RUN /m.test(last);
  check(isMinimal, "Dockerfile: the image is more than Node and its libraries");
  for (const program of copiedPrograms(dockerfile))
    check(program === "/usr/local/bin/node", `Dockerfile: the image has the program ${program}`);
  const ours = `flotilla:${version}`;
  check(builders[0]?.[1].image === ours, `${file}: the image that is built is not ${ours}`);
  for (const [name, { image = "", build }] of Object.entries(services)) {
    const named = defaultOf(image);
    if (named.startsWith("flotilla:")) check(named === ours, `${file}: ${name} runs ${named}, not ${ours}`);
    check(pinned.test(named), `${file}: the image ${named} of ${name} has no full version`);
    for (const [arg, value] of Object.entries(build?.args ?? {})) {
      const base = defaultOf(value);
      check(pinned.test(base), `${file}: the base image ${base} has no full version`);
      check(dockerfile.includes(`ARG ${arg}=${base}\n`), `Dockerfile: ${arg} is not ${base}, as ${file} has it`);
    }
  }
}

/** The value of `${NAME:-value}` without NAME. */
function defaultOf(text: string): string {
  return text.replace(/^\$\{\w+:-(.*)\}$/, "$1");
}

function checkContainer(
  name: string,
  { image = "", read_only, cap_drop = [], user = "", healthcheck }: ComposeService,
  check: Check,
): void {
  const isConfined = read_only === true && cap_drop.includes("ALL") && /^[1-9]/.test(user);
  check(isConfined, `${file}: ${name} has more rights than it needs`);
  check(healthcheck !== undefined, `${file}: ${name} has no health check`);
  const [form, ...command] = healthcheck?.test ?? [];
  // Our image has neither a shell nor other programs.
  const isOurs = image.startsWith("flotilla:") && form !== undefined;
  check(
    !isOurs || (form === "CMD" && command[0] === "node"),
    `${file}: the health check of ${name} is not run by node`,
  );
  const program = isOurs ? programOf(command[1] ?? "") : undefined;
  const isThere = !isOurs || (program !== undefined && imagePrograms.includes(program));
  check(isThere, `${file}: the health check of ${name} runs ${command[1]}, which the image does not have`);
}

function checkReferences(
  name: string,
  service: ComposeService,
  { services, volumes, networks }: Compose,
  check: Check,
): void {
  const { volumes: mounts = [], depends_on: needs = {} } = service;
  for (const other of Object.keys(needs))
    check(services[other] !== undefined, `${file}: ${name} depends on ${other}, which is no service`);
  for (const mount of mounts) {
    const { source, bind } = mountOf(mount);
    const exists = source.startsWith(".") ? existsSync(join(root, source)) : source in volumes;
    check(exists, `${file}: ${name} mounts ${source}, which is neither a volume nor a file`);
    const isGiven = typeof mount !== "string" && mount.source.startsWith("$");
    check(
      !isGiven || bind?.create_host_path === false,
      `${file}: a mistyped ${source} of ${name} becomes an empty directory`,
    );
  }
  for (const network of networksOf(service).keys())
    check(network === "default" || network in networks, `${file}: ${name} is on ${network}, which is no network`);
  check(service.pid === undefined, `${file}: ${name} shares processes, which end with their owner`);
}

function mountOf(mount: string | ComposeMount): Pick<ComposeMount, "source" | "bind"> {
  if (typeof mount !== "string") return { ...mount, source: defaultOf(mount.source) };
  const [source = ""] = mount.split(":");
  return { source };
}
