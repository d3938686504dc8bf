/** Commands for troubleshooting, and for shells. */
import { services } from "../layout.ts";
import { define } from "../parse/definition.ts";
import { any, choice, count, duration, flag, optionalDuration, path, required, textOr } from "../parse/option-kinds.ts";
import { connection, output, workDir } from "./option-groups.ts";

const group = "State of the mesh:";

export const logs = define({
  name: "logs",
  group,
  summary: "show the logs of the services, in order of time",
  details:
    "Logs of flotilla up are files in the work directory; those of flotilla serve are its output. With --context or --kubeconfig those of the pods of a cluster, with --compose those of the containers of the Docker Compose project in this directory.",
  operands: { services: { ...any("SERVICE", "only these: ca, xds-server, xds-server-1, …"), values: services } },
  options: {
    follow: flag("-f, --follow", "go on with the lines that come, until Ctrl-C"),
    tail: count("--tail <COUNT>", "how many of the last lines", { least: 0, most: 1_000_000, initial: 200 }),
    level: choice("--level <LEVEL>", "the least severe level that is shown", ["debug", "info", "warn", "error"]),
    since: optionalDuration("--since <DURATION>", "only lines that are younger"),
    output: choice("-o, --output <FORMAT>", "lines for people, or as they were written", ["text", "json"]),
    compose: flag("--compose", "of the containers of Docker Compose"),
    context: connection.context,
    kubeconfig: connection.kubeconfig,
    namespace: textOr("-n, --namespace <NAMESPACE>", "namespace of the control plane in the cluster", "istio-system"),
    workDir,
  },
  examples: [
    ["logs", "the last lines of all services"],
    ["logs xds-server --context prod -f", "those of the pods of xds-server"],
    ["logs xds-server -f --level warn", "warnings and errors of xds-server as they come"],
    ["logs --since 10m -o json", "for scripts"],
  ],
  exitCodes: { 0: "done", 1: "there is no such log" },
});

export const top = define({
  name: "top",
  group,
  summary: "show resource use and work of each replica: CPU, memory, event loop, proxies, work a second",
  details: "From two readings of /metrics, as far apart as --interval.",
  operands: {},
  options: {
    interval: duration("--interval <DURATION>", "time between two readings", "1s"),
    watch: flag("-w, --watch", "show it again after each interval, until Ctrl-C"),
    ...output,
    ...connection,
  },
  examples: [
    ["top", "once"],
    ["top -w --interval 5s", "until Ctrl-C"],
  ],
  exitCodes: { 0: "a replica answered", 4: "none did" },
});

export const bugReport = define({
  name: "bug-report",
  progress: "collecting pages and logs",
  group,
  summary: "write an archive for a bug report: pages, metrics and logs of the services, facts of this host",
  details: "It holds no keys, tokens or Secrets, and names services and hosts of the mesh.",
  operands: {},
  options: { out: path("--out <FILE>", "the archive; else flotilla-bug-report-TIME.tar.gz here"), ...connection },
  examples: [["bug-report", "attach the file to an issue"]],
});

export const completion = define({
  name: "completion",
  group: "This program:",
  summary: "print the completion script of a shell",
  details: "The script asks flotilla for words, so that it fits every version.",
  operands: { shell: { ...required("SHELL", "bash, zsh or fish"), values: ["bash", "zsh", "fish"] } },
  options: {},
  examples: [
    ["completion bash > /etc/bash_completion.d/flotilla", "bash, for all users"],
    ["completion zsh > ~/.zfunc/_flotilla", "zsh, where ~/.zfunc is in its fpath"],
    ["completion fish > ~/.config/fish/completions/flotilla.fish", "fish"],
  ],
});

export const man = define({
  name: "man",
  group: "This program:",
  summary: "print the manual page of a command, or of flotilla",
  details: "The package holds the same pages; npm install -g makes them known to man.",
  operands: { words: any("COMMAND", "the command; none: flotilla itself") },
  options: {},
  examples: [["man ca rotate | man -l -", "read it"]],
});
