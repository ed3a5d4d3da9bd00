import { describe, expect, test } from '@jest/globals';
import creditCardType from 'credit-card-type';
import { findSensitive, redactSensitive } from '../../lambdas/kernel/sensitive.ts';
import { fc } from '../support/properties.ts';
import { whole } from '../support/slice.ts';

/** Card numbers that the networks publish for tests. */
const CARD_NUMBERS = [
  ['Visa', '4242424242424242'],
  ['Mastercard', '5555555555554444'],
  ['Mastercard, 2-series', '2223003122003222'],
  ['American Express', '378282246310005'],
  ['Discover', '6011111111111117'],
  ['JCB', '3566002020360505'],
  ['Diners Club', '30569309025904'],
  ['UnionPay', '6200000000000005'],
  ['Maestro', '6759649826438453'],
  ['Elo', '6362970000457013'],
  ['Hipercard', '6062826786276634'],
  ['Dankort', '5019717010103742'],
  ['RuPay', '6074820000000009'],
] as const;

const SPELLINGS: readonly (readonly [form: string, spell: (number: string) => string])[] = [
  ['nothing between', (number) => number],
  ...[
    ' ',
    '-',
    '.',
    '_',
    '/',
    '\\',
    '|',
    ':',
    '+',
    '*',
    '~',
    '#',
    '\n',
    '\t',
    '\u00a0',
    '\u2009',
    '\u2212',
    '\u2013',
    '·',
    ' - ',
    '\u{1f4b3}',
  ].flatMap(
    (gap) =>
      [
        [`${JSON.stringify(gap)} in groups of four`, (number: string) => grouped(number, 4, gap)],
        [`${JSON.stringify(gap)} in pairs`, (number: string) => grouped(number, 2, gap)],
        [`${JSON.stringify(gap)} between all digits`, (number: string) => grouped(number, 1, gap)],
      ] as const,
  ),
  ...['٠', '۰', '०', '๐', '０', '𝟎', '𑛐', '𑛚', '᠐'].map(
    (zero) => [`digits from ${zero}`, (number: string) => inScript(number, zero)] as const,
  ),
  ['zero-width spaces', (number) => grouped(number, 1, '\u200b')],
  ['soft hyphens', (number) => grouped(number, 3, '\u00ad')],
  ['combining marks', (number) => grouped(number, 1, '\u0301')],
  ['keycaps', (number) => grouped(number, 1, '\ufe0f\u20e3') + '\ufe0f\u20e3'],
  [
    'circled digits',
    (number) =>
      Array.from(number)
        .map((digit) => (digit === '0' ? '⓪' : String.fromCodePoint(0x245f + Number(digit))))
        .join(''),
  ],
  ['leading zeros', (number) => `0000${number}`],
  ['its expiry date right after it', (number) => `${number}1229`],
  ['its expiry date and code right after it', (number) => `${number}122029123`],
  ['its expiry date after a gap', (number) => `${grouped(number, 4, ' ')} 12/29 123`],
  ['a magnetic-stripe track', (number) => `;${number}=29121010000012300000?`],
  ['brackets', (number) => `[${grouped(number, 4, '][')}]`],
  ['letters next to it', (number) => `card${number}x`],
  ['words around it', (number) => `paid with ${number}, thanks`],
  ['another number before it', (number) => `order 12 ${grouped(number, 4, ' ')}`],
  ['a list before it', (number) => `12, 13, ${number}`],
  ['different gaps', (number) => grouped(number, 4, ' ').replace(' ', '-').replace(' ', '.')],
];

function grouped(number: string, size: number, gap: string): string {
  return (number.match(new RegExp(`.{1,${size}}`, 'g')) ?? []).join(gap);
}

function inScript(number: string, zero: string): string {
  return Array.from(number)
    .map((digit) => String.fromCodePoint((zero.codePointAt(0) ?? 0) + Number(digit)))
    .join('');
}

/** The weighted sum is a multiple of ten (ISO/IEC 7812-1, annex B). */
function withCheckDigit(digits: string): string {
  const sum = Array.from(digits)
    .toReversed()
    .reduce((total, digit, index) => {
      const doubled = Number(digit) * (index % 2 === 0 ? 2 : 1);
      return total + (doubled > 9 ? doubled - 9 : doubled);
    }, 0);
  return digits + String((10 - (sum % 10)) % 10);
}

/** Returns whether the finder ignores these numbers, because they are obsolete or outside the published ranges. */
function isLeftOut(network: string, prefix: string, length: number): boolean {
  return (
    length < 14 ||
    (network === 'maestro' && (length < 15 || /^(?:6$|49)/.test(prefix))) ||
    (network === 'unionpay' && length < 16) ||
    (network === 'jcb' && /^(?:1800|2131)/.test(prefix)) ||
    (network === 'mir' && length < 16)
  );
}

/** The second digit is the check digit (USPS Publication 199, MOD 10). */
function uspsEnd(before: string, last: string): string {
  const digits = `${before}${last.slice(0, 1)}0`;
  const sum = Array.from(digits).reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 3 : 1), 0);
  return `${last.slice(0, 1)}${(10 - (sum % 10)) % 10}`;
}

/** Covers every network, range and length that `credit-card-type` knows. */
const numberOfNetwork = fc
  .constantFrom(
    ...Object.values(creditCardType.types).flatMap((network) => {
      const { patterns, lengths } = creditCardType.getTypeInfo(network);
      return patterns.flatMap((pattern) =>
        lengths.map((length) => ({ network, range: Array.isArray(pattern) ? pattern : [pattern, pattern], length })),
      );
    }),
  )
  .chain(({ network, range: [first, last], length }) =>
    fc
      .tuple(fc.integer({ min: Number(first), max: Number(last) }).map(String), fc.stringMatching(/^\d{19}$/))
      .map(([prefix, rest]) => ({
        network,
        prefix,
        number: withCheckDigit((prefix + rest).slice(0, length - 1)),
      })),
  )
  .filter(({ network, prefix, number }) => !isLeftOut(network, prefix, number.length));

describe('card numbers', () => {
  test.each(CARD_NUMBERS)('are found however they are written: %s', (_name, number) => {
    const missed = SPELLINGS.filter(([, spell]) => findSensitive(spell(number)) !== 'card_number');
    expect(missed.map(([form, spell]) => `${form}: ${spell(number)}`)).toEqual([]);
  });

  test('are found however they are written, for every known network, range and length', () => {
    fc.assert(
      fc.property(numberOfNetwork, fc.constantFrom(...SPELLINGS), ({ number }, [, spell]) => {
        expect(findSensitive(spell(number))).toBe('card_number');
      }),
      { numRuns: whole(3_000, { slice: 500 }) },
    );
  });

  test('are found with the digits of every script', () => {
    const isDigit = (point: number) => /\p{Nd}/u.test(String.fromCodePoint(point));
    const digits = Array.from({ length: 0x11_00_00 }, (_, point) => point).filter(isDigit);
    const zeros = digits.filter((_, index) => index % 10 === 0).map((point) => String.fromCodePoint(point));
    expect(zeros.length).toBeGreaterThan(70);
    expect(zeros.filter((zero) => findSensitive(inScript('4242424242424242', zero)) === undefined)).toEqual([]);
  });

  test.each([
    ['digits with a wrong check digit', '4242424242424241'],
    ['digits with a prefix that no issuer has', '1234567890123452'],
    ['too few digits', '424242424242'],
    ['too many digits', '42424242424242424242'],
    ['milliseconds', '1772366400000'],
    ['microseconds', '1800000000000009'],
    ['a UUID', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
    ['a UUID of digits', '00000000-4242-4242-4242-424200000000'],
    ['an IBAN', 'DE93 5001 0517 5407 3246 31'],
    ['a telephone number', '+49 30 901820'],
    ['an amount', '1.000.000,00 EUR'],
    ['an empty text', ''],
  ])('are not found in %s', (_what, text) => {
    expect(findSensitive(text)).toBeUndefined();
  });

  test('are found in a text that only resembles an IBAN', () => {
    expect(findSensitive('DE84 4242 4242 4242 4242')).toBe('card_number');
  });

  test('are not found after a change of any one digit', () => {
    fc.assert(
      fc.property(fc.nat(15), fc.integer({ min: 1, max: 9 }), (place, shift) => {
        const digits = '4242424242424242'.split('');
        digits[place] = String((Number(digits[place]) + shift) % 10);
        expect(findSensitive(digits.join(''))).toBeUndefined();
      }),
    );
  });

  test('are falsely found in fewer than 1 of 10,000 harmless texts', () => {
    const numRuns = whole(100_000, { slice: 20_000 });
    const texts = fc.sample(harmless, { numRuns, seed: 1 });
    const refused = texts.filter((text) => findSensitive(text) !== undefined);
    expect({ refused: refused.slice(0, 5), enough: refused.length < numRuns / 10_000 }).toMatchObject({ enough: true });
  });

  test.each(['0 ', '4 ', '0', '1234-'])('are searched for in linear time in a text that repeats %j', (unit) => {
    expect(findSensitive(unit.repeat(50_000))).toBeUndefined();
  });
});

const digits = (count: number) => fc.stringMatching(new RegExp(`^\\d{${count}}$`));
const date = fc
  .date({ min: new Date('2020-01-01'), max: new Date('2039-12-31'), noInvalidDate: true })
  .map((day) => day.toISOString().slice(0, 10));
/** The country prefixes are also prefixes of card numbers. */
const ean = fc
  .tuple(fc.constantFrom('40', '45', '50', '54', '59', '69', '76', '84', '30', '37'), digits(10))
  .map(([prefix, rest]) => {
    const sum = Array.from(prefix + rest).reduce(
      (total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3),
      0,
    );
    return prefix + rest + String((10 - (sum % 10)) % 10);
  });

const harmless = fc.oneof(
  fc.tuple(digits(8), date).map(([number, day]) => `Order ${number} of ${day}`),
  fc.tuple(digits(5), date).map(([number, day]) => `Invoice RE-2026-${number}, due ${day}`),
  fc.tuple(ean, digits(3), digits(2)).map(([article, euros, cents]) => `2 x article ${article}, ${euros}.${cents} EUR`),
  fc.tuple(digits(3), digits(7)).map(([area, number]) => `+49 ${area} ${number}`),
  fc.tuple(digits(3), digits(3), digits(4)).map(([area, office, line]) => `+1 (${area}) ${office}-${line}`),
  fc
    .tuple(digits(4), digits(6), digits(3), digits(7))
    .map((parts) => `0${parts[0]}/${parts[1]}, 0${parts[2]}-${parts[3]}`),
  fc.tuple(digits(2), digits(4), digits(4)).map(([area, first, second]) => `+86 1${area} ${first} ${second}`),
  fc.tuple(digits(3), digits(10)).map(([shipper, parcel]) => `UPS 1Z${shipper}AA${parcel}`),
  fc
    .tuple(digits(2), digits(16), digits(2))
    .map(
      ([first, middle, last]) => `USPS 94${first} ${grouped(middle, 4, ' ')} ${uspsEnd(`94${first}${middle}`, last)}`,
    ),
  fc.tuple(fc.constantFrom('FedEx 7', 'GLS ', 'DHL 00340'), digits(11)).map(([carrier, parcel]) => carrier + parcel),
  digits(16).map((parcel) => `DHL JJD00${parcel}`),
  digits(13).map((parcel) => `DPD 0${parcel}`),
  digits(9).map((parcel) => `Royal Mail AB${parcel}GB`),
  fc
    .tuple(digits(8), digits(6), digits(9))
    .map(([order, customer, vat]) => `#${order} / customer ${customer} / DE${vat}`),
  fc.tuple(digits(1), digits(7), digits(7)).map(([first, second, third]) => `30${first}-${second}-${third}`),
  fc.tuple(digits(4), date, digits(4)).map(([order, day, clock]) => `order ${order}, ${day} ${grouped(clock, 2, ':')}`),
  fc.tuple(digits(5), digits(5), digits(5)).map((numbers) => `Invoices ${numbers.join(', ')}`),
  fc.tuple(digits(4), digits(4), digits(4), digits(4)).map((numbers) => `Seats ${numbers.join(', ')}`),
  fc.tuple(digits(6), digits(6)).map(([north, east]) => `lat 48.${north}, lon 11.${east}`),
  digits(17).map((rest) => `17${rest}`),
  fc.uuid(),
  fc.lorem({ maxCount: 12 }),
);

describe('secrets', () => {
  test.each([
    ['a test key', 'sk_test_0123456789abcdef'],
    ['a live key', 'sk_live_0123456789abcdef'],
    ['a restricted key', 'rk_live_0123456789abcdef'],
    ['a webhook secret', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    ['an AWS access key id', 'AKIAIOSFODNN7EXAMPLE'],
    ['a private key', '-----BEGIN EC PRIVATE KEY-----'],
    ['a key in a sentence', 'please use sk_live_0123456789abcdef today'],
    ['a key with a zero-width space', 'sk_live_0123\u200b456789abcdef'],
    ['a GitHub token', `ghp_${'a1'.repeat(18)}`],
    ['a fine-grained GitHub token', `github_pat_${'a1'.repeat(20)}`],
    ['a GitLab token', `glpat-${'a1'.repeat(10)}`],
    ['an npm token', `npm_${'a1'.repeat(18)}`],
    ['a Slack token', ['xoxb', '123456789012', 'abcdefABCDEF'].join('-')],
    ['a Google key', `AIza${'Sy-1_'.repeat(7)}`],
    ['a SendGrid key', `SG.${'a1'.repeat(11)}.${'b2'.repeat(20)}`],
    ['a Twilio key', `SK${'0123456789abcdef'.repeat(2)}`],
    ['a Shopify token', `shpat_${'0123456789abcdef'.repeat(2)}`],
    ['a Square token', `sq0atp-${'a1'.repeat(11)}`],
    ['a Braintree token', `access_token$production$${'a1'.repeat(8)}$${'0123456789abcdef'.repeat(2)}`],
    ['a DigitalOcean token', `dop_v1_${'0123456789abcdef'.repeat(4)}`],
    ["a model vendor's key", `sk-${'a1B2'.repeat(10)}`],
    ...['', 'token_', 'id-', 'x.', '.', `${'eyJ-'.repeat(100)}_`].map((before) => [
      `a JSON Web Token after ${JSON.stringify(before.slice(0, 8))}`,
      `${before}eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r`,
    ]),
  ])('are found: %s', (_what, text) => {
    expect(findSensitive(text)).toBe('secret');
  });

  test.each([
    'task_test_results',
    'sk_test_',
    'a whsec_ prefix',
    'tok_ok',
    'pk_test_0123456789abcdef',
    'rk_2024_plan',
    'risk-assessment-of-the-year',
    'SKU12345678',
  ])('are not found in %s', (text) => {
    expect(findSensitive(text)).toBeUndefined();
  });
});

describe('redaction', () => {
  test('removes sensitive text and keeps the rest', () => {
    expect(redactSensitive('at 12:00 sk_live_0123456789abcdef and 4242 4242 4242 4242 failed')).toBe(
      'at 12:00 [secret] and [card number] failed',
    );
  });

  test('removes card numbers however they are written', () => {
    const left = SPELLINGS.filter(
      ([, spell]) => findSensitive(redactSensitive(spell('4242424242424242'))) !== undefined,
    );
    expect(left.map(([form]) => form)).toEqual([]);
  });

  test('leaves no secret or card number in any text', () => {
    const sensitive = fc.constantFrom('sk_live_0123456789abcdef', '4242424242424242', '3782 822463 10005');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), sensitive, (around, secret) => {
        expect(redactSensitive(`${around} ${secret} ${around}`)).not.toContain(secret);
      }),
    );
  });

  test.each([
    ['a card number with many invisible characters', Array.from('4242424242424242').join('\u200b'.repeat(9))],
    ['a secret with an invisible character', 'sk_li\u200bve_0123456789abcdefghijkl'],
    ['a secret with full-width letters', '\uff53\uff4b_live_0123456789abcdefghijkl'],
  ])('leaves no sensitive part of %s', (_what, text) => {
    expect(findSensitive(text)).toBeDefined();
    expect(findSensitive(redactSensitive(text))).toBeUndefined();
  });
});

describe('disguised sensitive text', () => {
  const NUMBER = '4242424242424242';
  test.each([
    ['invisible Hangul filler letters', grouped(NUMBER, 4, '\u3164')],
    ['half-width Hangul fillers', grouped(NUMBER, 1, '\uffa0')],
    ['Hangul choseong fillers', grouped(NUMBER, 1, '\u115f')],
    ['negative circled digits', Array.from(NUMBER, (digit) => String.fromCodePoint(0x2775 + Number(digit))).join('')],
    ['double circled digits', Array.from(NUMBER, (digit) => String.fromCodePoint(0x24f4 + Number(digit))).join('')],
    ['a house number before it and a year after it', `box 9310 ${NUMBER} 27`],
    ['a word before it and its expiry date after it, in groups', `pin 9311 ${grouped(NUMBER, 4, ' ')} 12/27`],
  ])('is found if it is a card number with %s', (_form, text) => {
    expect(findSensitive(text)).toBe('card_number');
  });

  test('is found if it is an operator key', () => {
    expect(findSensitive(`ok_${'Ab3-'.repeat(10)}Ab3`)).toBe('secret');
  });
});
