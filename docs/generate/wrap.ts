/** Tables, code and images may be longer. */
const MAX_LINE = 120;

/** Only paragraphs and list items that contain longer lines are wrapped. */
export function wrapMarkdown(text: string): string {
  return partsOf(text).map(wrapped).join('\n').replaceAll(CODE, '');
}

/** Returns the first lines of the paragraphs that {@link wrapMarkdown} changes. */
export function longParagraphs(text: string): readonly string[] {
  return partsOf(text).flatMap((part) => (wrapped(part) === part ? [] : [part.split('\n')[0] ?? '']));
}

function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  let isCode = false;
  let continues = false;
  for (const line of text.split('\n')) {
    const isFence = /^\s*```/.test(line);
    if (isFence) isCode = !isCode;
    const isProse = !isFence && !isCode && line.trim() !== '' && !NO_PROSE.test(line);
    if (continues && isProse && !LIST_ITEM.test(line)) parts.push(`${parts.pop()}\n${line}`);
    else parts.push(isCode || isFence ? `${CODE}${line}` : line);
    continues = isProse;
  }
  return parts;
}

/** Marks a part as code, which is never wrapped. */
const CODE = '\u0000';
const NO_PROSE = /^\s*(?:\||#|!\[|<)/;
const LIST_ITEM = /^(\s*)((?:[-*]|\d+\.) +)/;

function wrapped(part: string): string {
  if (part.startsWith(CODE)) return part;
  if (NO_PROSE.test(part) || part.split('\n').every((line) => line.length <= MAX_LINE)) return part;
  const [, indent = '', sign = ''] = LIST_ITEM.exec(part) ?? /^(\s*)()/.exec(part) ?? [];
  const hanging = ' '.repeat(indent.length + sign.length);
  // A code span stays on one line.
  const words =
    part
      .slice(hanging.length)
      .replaceAll(/\s+/g, ' ')
      .match(/(?:`[^`]*`|[^\s`])+/g) ?? [];
  const lines: string[] = [];
  let current = '';
  for (const word of words) {
    const next = current === '' ? word : `${current} ${word}`;
    if (current !== '' && hanging.length + next.length > MAX_LINE) {
      lines.push(current);
      current = word;
    } else current = next;
  }
  return [...lines, current].map((line, index) => `${index === 0 ? `${indent}${sign}` : hanging}${line}`).join('\n');
}
