/** Go's text/template with the functions that manifests use. */
export type { TemplateFunction, TemplateFunctions } from "./builtins.ts";
export { TemplateError, type TemplateErrorCode, type TemplatePlace } from "./errors.ts";
export { sprigFunctions } from "./sprig/index.ts";
export { parseTemplate, type Template, type TemplateOptions } from "./template.ts";
export { formatValue, isNothing, type MapLike, type Struct, zero } from "./values.ts";
