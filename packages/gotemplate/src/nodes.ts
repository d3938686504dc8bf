/** A parsed template. */

export interface Operand {
  readonly line: number;
  /** As written, for messages. */
  readonly source: string;
  readonly value: OperandValue;
}

export type OperandValue =
  | { readonly kind: "literal"; readonly value: string | number | boolean | null }
  /** `.a.b`; an empty path is the dot. */
  | { readonly kind: "field"; readonly path: readonly string[] }
  | { readonly kind: "variable"; readonly name: string; readonly path: readonly string[] }
  | { readonly kind: "function"; readonly name: string }
  /** `(pipeline).a.b` */
  | { readonly kind: "pipeline"; readonly pipeline: Pipeline; readonly path: readonly string[] };

/** A function with arguments, or a lone value. */
export interface Command {
  readonly operands: readonly [Operand, ...Operand[]];
}

export interface Pipeline {
  readonly line: number;
  readonly declared: readonly string[];
  /** `=` and not `:=`. */
  readonly assigns: boolean;
  readonly commands: readonly Command[];
}

export type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "output"; readonly pipeline: Pipeline }
  | Branch
  | { readonly kind: "template"; readonly name: string; readonly line: number; readonly argument: Pipeline | undefined }
  | { readonly kind: "break" }
  | { readonly kind: "continue" };

export interface Branch {
  readonly kind: "if" | "range" | "with";
  readonly pipeline: Pipeline;
  readonly body: readonly Node[];
  readonly otherwise: readonly Node[];
}
