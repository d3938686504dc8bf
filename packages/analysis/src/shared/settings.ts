/** The settings of the mesh that analyzers ask for. */
import { defaultMeshConfig } from "@flotilla/model";
import { type Field, field, textOf } from "@flotilla/validation/field";
import type { Mesh } from "../analyzer.ts";

/** MeshConfig over its defaults; the defaults where the mesh has none. */
export function meshConfig(mesh: Mesh): Field {
  return mesh.all("MeshConfig").at(-1)?.spec ?? { value: defaultMeshConfig, path: "spec" };
}

/** The namespace whose policies hold for the whole mesh. */
export function rootNamespace(mesh: Mesh): string {
  const given = textOf(field(meshConfig(mesh), "rootNamespace"));
  return given === "" ? "istio-system" : given;
}
