/** The parts of which schemas of the Gateway API's kinds are made, with the bounds that the API gives them. */
import type { Schema } from "./schema.ts";

type Properties = Readonly<Record<string, Schema>>;

export const object = (properties: Properties, ...required: readonly string[]): Schema => ({
  ...{ type: "object", properties },
  ...(required.length > 0 && { required }),
});
export const list = (items: Schema, minItems = 0, maxItems = 0): Schema => ({
  ...{ type: "array", items },
  ...(minItems > 0 && { minItems }),
  ...(maxItems > 0 && { maxItems }),
});
export const text: Schema = { type: "string" };
export const texts = list(text);
export const named: Schema = { type: "string", minLength: 1, maxLength: 253 };
export const optionalName: Schema = { type: "string", maxLength: 253 };
export const oneOf = (...values: readonly string[]): Schema => ({ type: "string", enum: values });
export const textMap: Schema = { type: "object", additionalProperties: text };
export const port: Schema = { type: "integer", minimum: 1, maximum: 65_535 };
export const namespace: Schema = {
  type: "string",
  minLength: 1,
  maxLength: 63,
  pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
};
export const dnsName = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
export const hostname: Schema = { type: "string", maxLength: 253, pattern: `^(\\*\\.)?${dnsName}$` };
export const preciseHostname: Schema = { type: "string", minLength: 1, maxLength: 253, pattern: `^${dnsName}$` };
export const anyObject: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
