/** Checks the limits that keep the documents short enough to be read. */
import { longParagraphs } from '../../docs/generate/wrap.ts';
import { proseFindings } from './word-list.ts';

/** Maximum number of words of the README and of all pages in `docs/` together. */
const MAX_WORDS = 50_000;
const MAX_README_LINES = 150;

/** Keyed by the path in the project. */
type Documents = ReadonlyMap<string, string>;

export function documentFindings(documents: Documents): readonly string[] {
  const counted = [...documents].filter(([file]) => file === 'README.md' || file.startsWith('docs/'));
  const words = counted.reduce((sum, [, text]) => sum + text.split(/\s+/).filter((word) => word !== '').length, 0);
  const readmeLines = (documents.get('README.md') ?? '').trimEnd().split('\n').length;
  return [
    ...(words > MAX_WORDS ? [`README.md and docs/ have ${words} words: shorten a page to at most ${MAX_WORDS}`] : []),
    ...(readmeLines > MAX_README_LINES
      ? [`README.md has ${readmeLines} lines: move a part to docs/, at most ${MAX_README_LINES} lines stay`]
      : []),
    ...[...documents].flatMap(([file, text]) => [
      ...longParagraphs(text).map((line) => `${file}: wrap at 120 characters: ${line.slice(0, 60)}…`),
      ...proseFindings(text).map(({ line, found, instead }) => `${file}:${line}: "${found}": write ${instead}`),
    ]),
  ];
}
