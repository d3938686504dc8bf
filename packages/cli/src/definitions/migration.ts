/** Commands for meshes that come from an istiod. */
import { define } from "../parse/definition.ts";
import { choice, existing, flag, list, text, textOr } from "../parse/option-kinds.ts";
import { connection, file } from "./option-groups.ts";

export const compare = define({
  name: "compare",
  progress: "comparing with istiod",
  group: "State of the mesh:",
  summary: "show the differences between the resources of an istiod and of Flotilla for the same proxies",
  details:
    "Takes the proxies that are connected to the istiod, asks both control planes as each of them and compares all resources field by field, in Envoy's names. It asks only: no object is written and no proxy notices. Sidecars, routers, waypoints and ztunnels are compared, proxies of other types are counted.",
  operands: {},
  options: {
    istiod: text("--istiod <HOST:PORT>", "istiod's xDS port, in plain text without --ca (required)"),
    debug: text(
      "--debug <HOST:PORT>",
      "istiod's TLS port, where it lists its proxies; then --ca and --token-file are for this one alone",
    ),
    proxies: list(
      "--proxies <FILE>",
      "the proxies in place of istiod's list: answers of its pages /debug/adsz and /debug/syncz; - is the standard input",
    ),
    all: flag("--all", "all connected proxies"),
    proxy: list("--proxy <NAME.NAMESPACE>", "one connected proxy"),
    ca: existing("--ca <FILE>", "root certificates that istiod is verified by", "file"),
    serverName: textOr("--server-name <NAME>", "name in istiod's certificate", "istiod.istio-system.svc"),
    tokenFile: existing("--token-file <FILE>", "token of a service account in istiod's namespace", "file"),
    file,
    kube: flag("--kube", "Flotilla's side from the objects of the cluster of KUBECONFIG"),
    kubeconfig: connection.kubeconfig,
    flotilla: text(
      "--flotilla <HOST:PORT>",
      "Flotilla's side from a control plane that runs: its xDS port in plain text",
    ),
    mesh: existing("--mesh <FILE>", "MeshConfig for -f and --kube; of a cluster else istio-system/istio", "file"),
    networks: existing("--networks <FILE>", "MeshNetworks for -f and --kube", "file"),
    envFile: existing(
      "--env-file <FILE>",
      "settings for -f and --kube, NAME=VALUE lines; of an ambient mesh PILOT_ENABLE_AMBIENT=true",
      "file",
    ),
    output: choice("-o, --output <FORMAT>", "format of the output", ["table", "json", "yaml", "sarif"]),
  },
  examples: [
    [
      "compare --istiod istiod:15010 --debug istiod:15012 --ca root.pem --token-file token --all --kube",
      "the whole mesh",
    ],
    [
      "compare --istiod localhost:15010 --proxies adsz.json --proxies syncz.json --proxy web-7d9.shop -f mesh/",
      "one proxy, from files",
    ],
  ],
  exitCodes: {
    0: "every proxy gets the same",
    1: "something differs, or no proxy was compared",
    4: "istiod or Flotilla does not answer",
  },
});
