/** Selects the ServiceEntries that are visible to ztunnels and waypoints. Kubernetes' Services are for all. */
import { type EntryVisibility, entryVisibility } from "@flotilla/ambient";
import type { Service } from "@flotilla/model";
import { query, type View } from "../view.ts";
import { namespaceTraits } from "./namespaces.ts";

const visibilityIn = query<EntryVisibility, string>("service-entry-visibility", (view, namespace) =>
  entryVisibility(view.mesh.serviceEntryVisibility, namespace, view.read(namespaceTraits, namespace).labels),
);

export function visibilityOf(view: View, { registry, namespace }: Service): EntryVisibility {
  return registry === "External" ? view.read(visibilityIn, namespace) : "public";
}
