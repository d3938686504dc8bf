/** The reason why an object of an unsupported kind is refused, with the kind that was probably meant. */
import { kinds } from "@flotilla/kinds";
import { nearestName } from "@flotilla/model";

/** `networking.istio.io/v1 VirtualServise is no kind that is known here: is VirtualService meant?` */
export function unknownKindText({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  const text = `${apiVersion} ${kind} is no kind that is known here`;
  const twin = kinds.find((known) => known.kind === kind);
  // The kind is right, its group is not.
  if (twin !== undefined) return `${text}: a ${kind} is of ${twin.group || "v1"}`;
  const nearest = nearestKind(kind);
  return nearest === undefined ? text : `${text}: is ${nearest} meant?`;
}

/** Whatever its letters are written like: `virtualservise` is near to VirtualService. */
export function nearestKind(text: string): string | undefined {
  const lower = new Map(kinds.flatMap(({ kind, plural }) => [kind.toLowerCase(), plural].map((name) => [name, kind])));
  const nearest = nearestName(text.toLowerCase(), [...lower.keys()]);
  return lower.get(text.toLowerCase()) ?? (nearest === undefined ? undefined : lower.get(nearest));
}
