/** A kind as people name it: its plural, singular, short name or kind, with or without its group. */
import { type Kind, kinds } from "@flotilla/kinds";
import { CliError } from "../errors.ts";

/** @throws CliError CLI_USAGE */
export function kindArgument(text: string): Kind {
  const [word = "", ...group] = text.toLowerCase().split(".");
  const named = kinds.filter(
    (kind) => namesOf(kind).includes(word) && (group.length === 0 || kind.group === group.join(".")),
  );
  // Istio's come first: a Gateway without a group is its own.
  const [first] = named;
  if (first === undefined) throw new CliError("CLI_USAGE", `${JSON.stringify(text)} is no kind that is known here`);
  return first;
}

function namesOf({ name, kind, plural, shortNames }: Kind): readonly string[] {
  return [name.toLowerCase(), kind.toLowerCase(), plural, ...shortNames];
}
