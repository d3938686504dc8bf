/**
 * Finds records (`{ [name: string]: T }`) that are read or written by a key from outside: `record[key]` finds `toString` in every object,
 * `record["__proto__"] = value` adds nothing, and `key in record` is true for both.
 *
 * Allowed are keys of a closed set of texts, keys that are known to be the record's own (`for (const key in record)`,
 * `for (const key of Object.keys(record))`, `Object.hasOwn(record, key) ? record[key] : …`), and a comment `own key: REASON` on the line or
 * the one before it.
 */
import ts from "typescript-6";

export interface Lookup {
  readonly file: string;
  readonly line: number;
  readonly kind: "read" | "write" | "in";
  readonly text: string;
  /** Of the expression in its file. */
  readonly start: number;
  readonly end: number;
  readonly record: string;
  readonly key: string;
}

export interface Project {
  readonly program: ts.Program;
  readonly files: readonly string[];
}

export function openProject(tsconfig: string, wanted: (file: string) => boolean): Project {
  const { config } = ts.readConfigFile(tsconfig, ts.sys.readFile);
  const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, tsconfig.replace(/\/[^/]*$/, ""));
  const files = fileNames.filter(wanted);
  return { program: ts.createProgram(files, options), files };
}

export function recordLookups({ program, files }: Project): readonly Lookup[] {
  const checker = program.getTypeChecker();
  const found: Lookup[] = [];
  for (const file of files) {
    const source = program.getSourceFile(file);
    if (source === undefined) throw new Error(`${file} is not read`);
    const lines = source.text.split("\n");
    const visit = (node: ts.Node): void => {
      const parts = partsOf(node);
      if (parts !== undefined && isOpen(checker, parts.key) && !isOwn(node, parts)) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart());
        const isExplained = [line, line - 1].some((at) => /\/[/*].*\bown key: \S/.test(lines[at] ?? ""));
        if (!isExplained) {
          const { kind } = parts;
          const [record, key] = [parts.record.getText(), parts.key.getText()];
          const place = { start: node.getStart(), end: node.getEnd() };
          found.push({ file, line: line + 1, kind, text: oneLine(node.getText()), ...place, record, key });
        }
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}

interface Parts {
  readonly kind: Lookup["kind"];
  readonly record: ts.Expression;
  readonly key: ts.Expression;
}

function partsOf(node: ts.Node): Parts | undefined {
  if (ts.isElementAccessExpression(node) && !ts.isDeleteExpression(node.parent)) {
    const { expression: record, argumentExpression: key } = node;
    return { kind: isAssigned(node) ? "write" : "read", record, key };
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.InKeyword)
    return { kind: "in", record: node.right, key: node.left };
  return undefined;
}

function isAssigned(node: ts.ElementAccessExpression): boolean {
  const { parent } = node;
  return (
    ts.isBinaryExpression(parent) &&
    parent.left === node &&
    parent.operatorToken.kind >= ts.SyntaxKind.FirstAssignment &&
    parent.operatorToken.kind <= ts.SyntaxKind.LastAssignment
  );
}

/** Texts, but not a union of literal ones. */
function isOpen(checker: ts.TypeChecker, key: ts.Expression): boolean {
  const isText = (type: ts.Type): boolean => {
    if (type.isUnionOrIntersection()) return type.types.some(isText);
    if (type.flags & ts.TypeFlags.TypeParameter) {
      const constraint = checker.getBaseConstraintOfType(type);
      return constraint !== undefined && constraint !== type && isText(constraint);
    }
    return (type.flags & (ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral | ts.TypeFlags.StringMapping)) !== 0;
  };
  return isText(checker.getTypeAtLocation(key));
}

/** Something around the expression holds that the key is one of the record's own. */
function isOwn(node: ts.Node, { record, key }: Parts): boolean {
  const [recordText, keyText] = [oneLine(record.getText()), oneLine(key.getText())];
  const guard = `Object.hasOwn(${recordText}, ${keyText})`;
  for (let at = node; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isConditionalExpression(at) && oneLine(at.condition.getText()).includes(guard)) return true;
    if (ts.isIfStatement(at) && oneLine(at.expression.getText()).includes(guard)) return true;
    if (ts.isBinaryExpression(at) && oneLine(at.left.getText()).includes(guard)) return true;
    if (ts.isForInStatement(at) && isLoopOver(at, recordText, keyText)) return true;
    if (ts.isForOfStatement(at) && isLoopOver(at, `Object.keys(${recordText})`, keyText)) return true;
  }
  return false;
}

function isLoopOver(loop: ts.ForInOrOfStatement, over: string, keyText: string): boolean {
  if (oneLine(loop.expression.getText()) !== over || !ts.isVariableDeclarationList(loop.initializer)) return false;
  return loop.initializer.declarations[0]?.name.getText() === keyText;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ");
}
