export { NameInterner, type NameSet, nameSet, noNames } from "./name-set.ts";
export { emptySet, type Resource, type ResourceSet } from "./resource-set.ts";
