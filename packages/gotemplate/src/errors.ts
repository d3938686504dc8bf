/** Errors of a template, from parsing or execution, with the place. */

/** `TEMPLATE_SYNTAX`: it cannot be parsed. `TEMPLATE_EXECUTION`: it cannot be executed on this data. */
export type TemplateErrorCode = "TEMPLATE_SYNTAX" | "TEMPLATE_EXECUTION";

export interface TemplatePlace {
  readonly template: string;
  /** Counted from 1. */
  readonly line: number;
}

export class TemplateError extends Error {
  override readonly name = "TemplateError";
  readonly code: TemplateErrorCode;
  readonly place: TemplatePlace;
  /** Without code and place. */
  readonly reason: string;

  constructor(code: TemplateErrorCode, place: TemplatePlace, reason: string, options?: ErrorOptions) {
    super(`[${code}] ${place.template}:${place.line}: ${reason}`, options);
    this.code = code;
    this.place = place;
    this.reason = reason;
  }
}
