/** `--replicas SERVICE=COUNT`, of as many services as are named. */
import { InvalidArgumentError } from "commander";
import { type ReplicaCounts, services } from "../layout.ts";
import type { OptionSpec } from "./definition.ts";

/** As many processes as one host is used for. */
const most = 16;

export function replicaCounts(flags: string, help: string): OptionSpec<ReplicaCounts> {
  return { flags, help, initial: {}, initialText: "one of each", parse: addCount };
}

function addCount(text: string, previous: ReplicaCounts): ReplicaCounts {
  const [, word = "", digits = ""] = /^([^=]*)=(\d+)$/.exec(text) ?? [];
  const service = services.find((name) => name === word);
  const count = Number(digits);
  if (service === undefined || count < 1 || count > most)
    throw new InvalidArgumentError(`It is no SERVICE=COUNT with a service of ${services.join(", ")} and 1 to ${most}.`);
  return { ...previous, [service]: count };
}
