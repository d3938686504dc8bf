export { default as fc } from "fast-check";
export { checkAsyncProperty, checkProperty, type PropertyOptions, propertyParameters } from "./property.ts";
