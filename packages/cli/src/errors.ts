/** Errors of the command line: shown to the user in one line, without a stack. */
export type CliErrorCode =
  | "CLI_USAGE"
  | "CLI_REFUSED"
  | "CLI_ABSENT"
  | "CLI_SERVICE_ENDED"
  | "CLI_PORT_TAKEN"
  | "CLI_IN_USE"
  | "CLI_NOT_RUNNING"
  | "CLI_FAILED";

export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: CliErrorCode;

  constructor(code: CliErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
  }
}
