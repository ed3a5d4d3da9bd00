import { expect, test } from '@jest/globals';
import { wrapMarkdown } from '../../docs/generate/wrap.ts';
import { documentFindings } from './document-limits.ts';

const found = (file: string, text: string) => documentFindings(new Map([[file, text]]));
const LONG = 'word '.repeat(30).trim();

test.each([
  ['more words than the README and the pages may have', 'docs/a.md', 'a b\n'.repeat(25_001), /have 50002 words/],
  ['a README that is too long', 'README.md', 'a\n'.repeat(151), /has 151 lines/],
  ['a long line', 'docs/a.md', `- ${LONG}`, /docs\/a\.md: wrap at 120/],
  ['a rejected word', 'docs/a.md', 'A\n\nThe alarm rings.', /docs\/a\.md:3: "rings"/],
])('the check of the documents reports %s', (_what, file, text, finding) => {
  expect(found(file, text)).toEqual([expect.stringMatching(finding)]);
});

test.each([
  ['tables, code and headings', `| ${LONG} |\n\n\`\`\`\n${LONG} rings\n\`\`\`\n\n# ${LONG}`],
  ['a word in code or in the target of a link', 'The command `rings` and [a page](rings.md).'],
])('the check of the documents accepts %s', (_what, text) => {
  expect(found('docs/a.md', text)).toEqual([]);
});

test('the formatter wraps paragraphs and list items, keeps their indents, and leaves short lines unchanged', () => {
  const text = `Short\nlines stay.\n\n1. ${LONG}\n   ${LONG}\n   - item`;
  const wrapped = wrapMarkdown(text);

  expect(wrapped.split('\n').every((line) => line.length <= 120)).toBe(true);
  expect(wrapped).toMatch(/^Short\nlines stay\.\n\n1\. word .*\n {3}word .*\n {3}word .*\n {3}- item$/);
  expect(wrapped.replaceAll(/\s+/g, ' ')).toBe(text.replaceAll(/\s+/g, ' '));
  expect(wrapMarkdown(wrapped)).toBe(wrapped);
});
