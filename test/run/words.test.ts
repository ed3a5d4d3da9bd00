import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { fileNameFindings, wordFindings } from './word-list.ts';

const { rejected, rejectedNames, accepted, acceptedNames } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'word-samples.json'), 'utf8'),
) as Readonly<Record<'rejected' | 'rejectedNames' | 'accepted' | 'acceptedNames', readonly string[]>>;

const PLACES: Readonly<Record<string, (sentence: string) => string>> = {
  'a comment': (sentence) => `/** ${sentence} */\nconst a = 1;`,
  'a comment of several lines': (sentence) => `/**\n * ${sentence.replaceAll(' ', '\n * ')}\n */\nconst a = 1;`,
  'comments on consecutive lines': (sentence) => `const a = 1; // ${sentence.replaceAll(' ', '\n // ')}\n`,
};
const TEXTS: Readonly<Record<string, (sentence: string) => string>> = {
  'a string': (sentence) => `const a = ${JSON.stringify(sentence)};`,
  'a template': (sentence) => `const a = \`\${b} ${sentence} \${c / d} and \${\`\${e}\`}\`;`,
};

describe('the word list', () => {
  test.each(Object.entries(PLACES))('finds each rejected sentence in %s', (_, place) => {
    expect(rejected.filter((sentence) => wordFindings('a.ts', place(sentence)).length === 0)).toEqual([]);
  });

  test.each(Object.entries({ ...PLACES, ...TEXTS }))('accepts plain sentences in %s', (_, place) => {
    expect(accepted.flatMap((sentence) => wordFindings('a.ts', place(sentence)))).toEqual([]);
  });

  test.each(Object.entries(TEXTS))('finds words in %s, not only in comments', (_, place) => {
    const withoutBeginnings = rejected.filter((sentence) => !sentence.startsWith('Of '));
    expect(withoutBeginnings.filter((sentence) => wordFindings('a.ts', place(sentence)).length === 0)).toEqual([]);
  });

  test('finds words in names', () => {
    for (const name of rejectedNames) {
      expect(wordFindings('a.ts', `const a = { '${name}': 1 };`)).not.toEqual([]);
      expect(wordFindings('a.ts', `const ${name} = 1;`)).not.toEqual([]);
    }
    expect(acceptedNames.flatMap((name) => wordFindings('a.ts', `const a = '${name}';`))).toEqual([]);
  });

  test('reports the line, the word and a better word', () => {
    const source = "const a = /[`'/]/g;\n\n/**\n * The payment has\n * ended meanwhile. `told`\n */\nconst b = 1;";
    expect(wordFindings('a.ts', source)).toEqual([
      { line: 5, found: 'meanwhile', instead: '"in the meantime", "since then" or "during …"' },
    ]);
  });

  test('finds words in the names of files, but not of folders', () => {
    expect(fileNameFindings('test/told/replayed-meanwhile.test.ts')).toEqual([
      'test/told/replayed-meanwhile.test.ts: write "since" for "meanwhile"',
    ]);
  });

  test('finds words in the text of JSX elements', () => {
    const source = '<p className="a">\n  The answer is <b>not</b> the one that\n  somebody else gave</p>';
    expect(wordFindings('a.tsx', source)).toMatchObject([{ line: 3, found: 'somebody' }]);
  });
});
