/** Commands that run a control plane on this host. */
import { define } from "../parse/definition.ts";
import { existing, flag, optionalCount, replicaCounts } from "../parse/option-kinds.ts";
import { workDir } from "./option-groups.ts";

const group = "Run a control plane:";

/** `--xds-port` is the first of as many ports in a row. */
const portsInARow = 12;

const runOptions = {
  config: existing("--config <DIR>", "directory of YAML with the objects of the mesh", "directory"),
  mesh: existing("--mesh <FILE>", "MeshConfig", "file"),
  networks: existing("--networks <FILE>", "MeshNetworks", "file"),
  envFile: existing(
    // Node reads --env-file itself where it starts the program without `--`, as the sources are in a clone, and refuses a file that is not there by itself.
    "--settings, --env-file <FILE>",
    "settings of the services, NAME=value a line (docs/settings.md)",
    "file",
  ),
  xdsPort: optionalCount("--xds-port <PORT>", `first of ${portsInARow} ports in a row; else 15010 and its neighbours`, {
    least: 1,
    most: 65_536 - portsInARow,
  }),
  replicas: replicaCounts(
    "--replicas <SERVICE=COUNT>",
    "replicas of a service behind its one address; may be repeated",
  ),
  embedded: flag("--embedded", "run all services in one process, without NATS and Redis"),
  workDir,
} as const;

export const up = define({
  name: "up",
  group,
  summary: "start the control plane and show where each service runs",
  operands: {},
  options: runOptions,
  examples: [
    ["up --config mesh/", "serve the objects in mesh/, follow its changes"],
    ["up --replicas xds-server=3", "three replicas of xds-server behind port 15010"],
    ["up --embedded", "one process, without NATS and Redis"],
  ],
});

export const serve = define({
  name: "serve",
  group,
  summary: "start the control plane for scripts: foreground, JSON logs",
  operands: {},
  options: runOptions,
  examples: [["serve --config mesh/ --work-dir /var/lib/flotilla", "as a service of the host"]],
});

export const demo = define({
  name: "demo",
  group,
  summary: "start the control plane with a sample mesh, real Envoys and requests through them",
  operands: {},
  options: { ...runOptions, once: flag("--once", "end after the checks") },
  examples: [["demo --once", "show the mesh at work, then end"]],
  exitCodes: { 0: "every check passed", 1: "a check failed" },
});
