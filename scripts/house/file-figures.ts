/** Countable figures of a source file: its length, its long functions, and its exports with a doc comment. Pure. */
import ts from "typescript-6";

export interface FileFigures {
  readonly lines: number;
  /** Longer than `longLines`: `name (lines)`. */
  readonly longFunctions: readonly string[];
  /** Exported declarations, re-exports not counted. */
  readonly exports: number;
  /** Those with a doc comment of their own. */
  readonly documented: number;
}

/** Of a function, its signature included. */
export const longLines = 60;

export function fileFigures(name: string, text: string): FileFigures {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const longFunctions: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const lines = lineOf(source, node.getEnd()) - lineOf(source, node.getStart()) + 1;
      if (lines > longLines) longFunctions.push(`${nameOf(node)} (${lines})`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const exported = source.statements.filter(isExported);
  const documented = exported.filter((statement) => ts.getJSDocCommentsAndTags(statement).length > 0);
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  return { lines, longFunctions, exports: exported.length, documented: documented.length };
}

function isExported(statement: ts.Statement): boolean {
  if (!ts.canHaveModifiers(statement)) return false;
  return ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

function nameOf(node: ts.SignatureDeclaration): string {
  if (node.name !== undefined) return node.name.getText();
  const { parent } = node;
  return ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) ? parent.name.getText() : "a function";
}

function lineOf(source: ts.SourceFile, position: number): number {
  return source.getLineAndCharacterOfPosition(position).line;
}
