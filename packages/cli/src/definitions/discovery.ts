/** `flotilla discovery`, with the flags of pilot-discovery under their names. */
import { type DiscoveryFlag, discoveryFlags } from "../discovery/flags.ts";
import { define, type OptionSpec } from "../parse/definition.ts";
import { workDir } from "./option-groups.ts";

/** By the name that commander gives the option: dashes make capitals. */
export function optionKey(name: string): string {
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function optionOf({ name, short, value, help, effect }: DiscoveryFlag): OptionSpec<string | boolean | undefined> {
  const flags = `${short === undefined ? "" : `-${short}, `}--${name} ${value === undefined ? "[BOOLEAN]" : `<${value}>`}`;
  const isNone = effect.type === "none";
  return {
    ...{ flags, initial: undefined, parse: (given: string) => given },
    help: isNone ? `${help}; no effect: ${effect.reason}` : help,
    group: isNone ? "Flags of pilot-discovery without an effect:" : "Flags of pilot-discovery:",
  };
}

const flagOptions: Readonly<Record<string, OptionSpec<string | boolean | undefined>>> = Object.fromEntries(
  discoveryFlags.map((flag) => [optionKey(flag.name), optionOf(flag)]),
);

export const discovery = define({
  name: "discovery",
  group: "Run a control plane:",
  summary: "start the control plane with the command line of istiod",
  details:
    "Takes the flags of `pilot-discovery discovery` and istiod's environment variables, listens on istiod's ports on all addresses, and logs in JSON. Unknown flags are ignored with a warning that names the nearest, as pilot-discovery ignores them.",
  operands: {},
  options: { ...flagOptions, workDir },
  unknownOptions: "warn",
  examples: [
    ["discovery --configDir mesh/ --meshConfig mesh.yaml", "files in place of a cluster"],
    ["discovery --kubeconfig cluster.yaml --log_output_level default:debug", "a cluster, with more lines in the log"],
  ],
});
