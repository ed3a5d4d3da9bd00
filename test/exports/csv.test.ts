import { expect, test } from '@jest/globals';
import { type Cell, csvLine } from '../../lambdas/exports/domain/csv.ts';
import { fc } from '../support/properties.ts';

/**
 * Independent of production code (RFC 4180).
 *
 * @param separator the separator at which a spreadsheet may split
 */
function cellsOf(text: string, separator = ','): readonly (readonly string[])[] {
  const lines: string[][] = [];
  let line: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (text.charAt(at + 1) === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (char === '"' && cell === '') isQuoted = true;
    else if (char === separator) {
      line.push(cell);
      cell = '';
    } else if (char === '\r' || char === '\n') {
      if (char === '\r' && text.charAt(at + 1) === '\n') at += 1;
      lines.push([...line, cell]);
      line = [];
      cell = '';
    } else cell += char;
  }
  return lines;
}

const nasty = fc.string({
  unit: fc.constantFrom(
    '=',
    '+',
    '-',
    '@',
    '%',
    '＝',
    "'",
    '"',
    ',',
    ';',
    '|',
    '\t',
    '\r',
    '\n',
    ' ',
    '\u0000',
    '\ufeff',
    'a',
    '1',
    'é',
    '😀',
  ),
  maxLength: 12,
});

test.each<[string, readonly Cell[], string]>([
  ['plain values', ['a', 'b c', 7, undefined, ''], 'a,b c,7,,\r\n'],
  ['a comma', ['a,b'], '"a,b"\r\n'],
  ['quotes', ['say "hi"'], '"say ""hi"""\r\n'],
  ['line breaks', ['a\r\nb', 'c\nd'], '"a\r\nb","c\nd"\r\n'],
  ['a formula', ['=1+1', '+1', '-1', '@SUM(A1)'], "'=1+1,'+1,'-1,'@SUM(A1)\r\n"],
  ['a formula after whitespace', [' =1', '\t=1', '\ufeff=1'], `" '=1","'\t'=1","\ufeff'=1"\r\n`],
  ['a formula after a different separator', ['a;=1'], '"a;\'=1"\r\n'],
  ['amounts', [-5, 10, { decimal: '-0.05' }], '-5,10,-0.05\r\n'],
])('the CSV writer quotes and escapes cells only where necessary: %s', (_name, cells, line) => {
  expect(csvLine(cells)).toBe(line);
});

test('no cell begins with a character that starts a formula in a spreadsheet, including full-width forms', () => {
  const triggers = Array.from({ length: 0x1_00_00 }, (_, code) => String.fromCharCode(code)).filter((char) =>
    /^[=+\-@%\t\r\n]/.test(char.normalize('NFKC')),
  );
  expect(triggers.length).toBeGreaterThan(20);
  for (const trigger of triggers)
    for (const lead of ['', ' ', "'", '"', "''", '\u200b', '\u00a0', ';', 'a\t', 'a\n', 'a|']) {
      const [cell = ''] = cellsOf(csvLine([`${lead}${trigger}1`]))[0] ?? [];
      expect(cell.normalize('NFKC')).not.toMatch(/(?:^|[,;|\t\r\n])[\s\p{C}"]*[=+\-@%]/u);
      expect(cell).not.toMatch(/^[\t\r\n]/);
    }
});

test('the text of any cell is read back unchanged, except for an apostrophe before a formula', () => {
  const bare = (text: string) => text.replaceAll("'", '');
  fc.assert(
    fc.property(fc.array(fc.oneof(nasty, fc.string({ unit: 'binary' })), { minLength: 1, maxLength: 5 }), (cells) => {
      const [line = [], ...others] = cellsOf(csvLine(cells));
      expect(others).toEqual([]);
      expect(line.map(bare)).toEqual(cells.map(bare));
      for (const [index, cell] of cells.entries())
        if (!/[=+\-@%＝＋－＠\t\r\n]/.test(cell)) expect(line[index]).toBe(cell);
    }),
  );
});

test('no cell begins with a formula, wherever a spreadsheet splits the line', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(nasty, fc.string({ unit: 'binary' })), { minLength: 1, maxLength: 5 }), (cells) => {
      for (const separator of [',', ';', '\t', '|'])
        for (const line of cellsOf(csvLine(cells), separator))
          for (const cell of line) expect(cell).not.toMatch(/^[\s\p{C}"]*[=+\-@%＝＋－＠]/u);
    }),
    { numRuns: 500 },
  );
});
