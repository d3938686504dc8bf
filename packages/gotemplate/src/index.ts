/** Go's text/template with the functions that manifests use. */
export { builtins, type TemplateFunction, type TemplateFunctions } from "./builtins.ts";
export { TemplateError, type TemplateErrorCode, type TemplatePlace } from "./errors.ts";
export { sprintf } from "./printf.ts";
export { sprigFunctions } from "./sprig/index.ts";
export { parseTemplate, type Template, type TemplateOptions } from "./template.ts";
export { formatValue, isNothing, isStruct, isTrue, type MapLike, type Struct, sortedKeys, zero } from "./values.ts";
