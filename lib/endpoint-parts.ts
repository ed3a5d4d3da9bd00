import ts from 'typescript';

/** The part of an endpoint's declaration that a bundle does not need. */
export type UnusedPart = 'docs' | 'handle';

const DECLARATIONS = ['reading', 'keyed', 'setting', 'signed'];
const HAS_PARTS = new RegExp(String.raw`\b(?:${DECLARATIONS.join('|')})\(|\.meta\(`);

/**
 * Removes the unused part from every endpoint declaration in a source file. Functions that serve endpoints are bundled
 * without `docs` and without `.meta(…)` of schemas; the function that serves the documents is bundled without `handle`.
 */
export function withoutPart(source: string, unused: UnusedPart): string {
  if (!HAS_PARTS.test(source)) return source;
  const removed: (readonly [from: number, to: number])[] = [];
  const visit = (node: ts.Node): void => {
    const range = unusedRange(node, unused);
    if (range === undefined) {
      ts.forEachChild(node, visit);
      return;
    }
    removed.push(range);
    // The schema before `.meta(…)` can contain nested `.meta(…)` calls.
    if (ts.isCallExpression(node)) visit((node.expression as ts.PropertyAccessExpression).expression);
  };
  visit(ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true));
  return removed
    .toSorted(([left], [right]) => right - left)
    .reduce((text, [from, to]) => text.slice(0, from) + text.slice(to), source);
}

function unusedRange(node: ts.Node, unused: UnusedPart): readonly [from: number, to: number] | undefined {
  if (ts.isCallExpression(node)) {
    const { expression } = node;
    const isMeta = ts.isPropertyAccessExpression(expression) && expression.name.text === 'meta';
    return isMeta && unused === 'docs' ? [expression.expression.getEnd(), node.getEnd()] : undefined;
  }
  if (!ts.isObjectLiteralElement(node) || !isNamed(node, unused)) return undefined;
  const call = node.parent.parent;
  if (!ts.isCallExpression(call) || !ts.isIdentifier(call.expression) || !DECLARATIONS.includes(call.expression.text))
    return undefined;
  const { text } = node.getSourceFile();
  return [node.getFullStart(), text[node.getEnd()] === ',' ? node.getEnd() + 1 : node.getEnd()];
}

function isNamed(node: ts.ObjectLiteralElement, name: string): boolean {
  return node.name !== undefined && ts.isIdentifier(node.name) && node.name.text === name;
}
