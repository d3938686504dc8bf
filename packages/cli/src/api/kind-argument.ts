/** A kind as people name it: its plural, singular, short name or kind, with or without its group. */
import { type Kind, kinds } from "@flotilla/kinds";
import { nearestKind } from "@flotilla/validation";
import { CliError } from "../errors.ts";

/** @throws CliError CLI_USAGE */
export function kindArgument(text: string): Kind {
  const [word = "", ...group] = text.toLowerCase().split(".");
  const named = kinds.filter(
    (kind) => namesOf(kind).includes(word) && (group.length === 0 || kind.group === group.join(".")),
  );
  // Istio's come first: a Gateway without a group is its own.
  const [first] = named;
  if (first === undefined) throw new CliError("CLI_USAGE", unknownText(text));
  return first;
}

function unknownText(text: string): string {
  const quoted = JSON.stringify(text);
  if (text.includes("/"))
    return `${quoted} is no kind: give kind and name as two words, as in ${text.replace("/", " ")}`;
  if (text.includes(",")) return `${quoted} is no kind: one kind at a time is shown`;
  const nearest = nearestKind(text);
  return `${quoted} is no kind that is known here${nearest === undefined ? "" : `; did you mean ${nearest}?`}`;
}

function namesOf({ name, kind, plural, shortNames }: Kind): readonly string[] {
  return [name.toLowerCase(), kind.toLowerCase(), plural, ...shortNames];
}
