export { default as fc } from "fast-check";
export { createTestAuthority, type KeyPair, type KeyPairRequest, type TestAuthority } from "./key-pair.ts";
export { checkAsyncProperty, checkProperty, type PropertyOptions, propertyParameters } from "./property.ts";
