import { describe, expect, test } from '@jest/globals';
import { parseIdempotencyKey } from '../../lambdas/kernel/idempotency-key.ts';
import { fc } from '../support/properties.ts';

const LONGEST = 'k'.repeat(128);

describe('the Idempotency-Key header', () => {
  test.each([
    ['raw', ['8e03978e'], '8e03978e'],
    ['as a quoted string, as in the IETF draft', ['"8e03978e"'], '8e03978e'],
    ['with white space around it', ['  8e03978e\t'], '8e03978e'],
    ['with escapes inside the quotes', ['"a\\"b\\\\c"'], 'a"b\\c'],
    ['given twice, once quoted', ['8e03978e', '"8e03978e"'], '8e03978e'],
    ['with one character', ['k'], 'k'],
    ['with the maximum length', [LONGEST], LONGEST],
    ['with a quote in the middle', ['a"b'], 'a"b'],
    ['with the first and the last visible character', ['!~'], '!~'],
  ])('is accepted %s', (_form, values, key) => {
    expect(parseIdempotencyKey(values)).toEqual({ kind: 'key', key });
  });

  test.each([
    ['not given', []],
    ['empty', ['']],
    ['blank', [' \t ']],
    ['an empty quoted string', ['""']],
  ])('is treated as missing if it is %s', (_form, values) => {
    expect(parseIdempotencyKey(values)).toEqual({ kind: 'missing' });
  });

  test.each([
    ['with two values', ['one', 'two']],
    ['with a value and an empty value', ['one', '']],
    ['with a character too many', [`${LONGEST}k`]],
    ['with a space inside', ['a b']],
    ['with a space inside quotes', ['"a b"']],
    ['with a letter outside ASCII', ['schlüssel']],
    ['with a control character', ['a\u0000b']],
    ['with DEL', ['a\u007f']],
    ['with an open quote', ['"abc']],
    ['with something after the closing quote', ['"abc"d']],
    ['with an unknown escape', ['"a\\n"']],
  ])('is invalid %s', (_form, values) => {
    expect(parseIdempotencyKey(values).kind).toBe('invalid');
  });

  test.each([
    ['a b', 'character 2 of this one is U+0020'],
    ['"a b"', 'character 2 of this one is U+0020'],
    ['schlüssel', 'character 5 of this one is U+00FC'],
    ['k-😀', 'character 3 of this one is U+1F600'],
    ['a\u0000b', 'character 2 of this one is U+0000'],
    [`${LONGEST}k`, 'this one has 129'],
  ])(
    'is refused with a reason that names the allowed characters, and the first forbidden character or the length: %j',
    (value, which) => {
      const reason = `a key is 1 to 128 visible ASCII characters (! to ~); ${which}`;
      expect(parseIdempotencyKey([value])).toEqual({ kind: 'invalid', reason });
    },
  );

  test('is parsed without an exception for any content, and yields only visible ASCII', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 3 }), (values) => {
        const parsed = parseIdempotencyKey(values);
        if (parsed.kind === 'key') expect(parsed.key).toMatch(/^[!-~]{1,128}$/);
      }),
    );
  });

  test('yields the same key whether raw or quoted, for any visible ASCII characters', () => {
    const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
    const raw = fc.string({ unit: visible, minLength: 1, maxLength: 128 }).filter((key) => !key.startsWith('"'));
    fc.assert(
      fc.property(raw, (key) => {
        const quoted = `"${key.replaceAll(/["\\]/g, (character) => `\\${character}`)}"`;
        expect(parseIdempotencyKey([quoted, key])).toEqual({ kind: 'key', key });
      }),
    );
  });

  test('is not repeated in the error if its key is invalid', () => {
    const parsed = parseIdempotencyKey(['my secret order']);

    expect(JSON.stringify(parsed)).not.toContain('secret');
  });
});
