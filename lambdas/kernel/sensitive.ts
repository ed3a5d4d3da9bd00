/**
 * Neither kind may reach a log, an event or a table: payments are made with tokens, so a card number in a note is a
 * mistake.
 */
export type SensitiveKind = 'card_number' | 'secret';

export function findSensitive(text: string): SensitiveKind | undefined {
  const plain = fold(text);
  if (SECRET.test(plain)) return 'secret';
  return hasCardNumber(withoutKnownNumbers(plain)) ? 'card_number' : undefined;
}

export function redactSensitive(text: string): string {
  const redacted = text
    .replaceAll(ALL_SECRETS, '[secret]')
    .replaceAll(NUMERIC_RUNS, (run) => (hasCardNumber(fold(run)) ? '[card number]' : run));
  // A number that is hidden by invisible characters or by variants of digits is visible only in the folded text.
  return findSensitive(redacted) === undefined ? redacted : '[sensitive text]';
}

/** Returns the text with ASCII digits, and without characters that are invisible or only decorate another character. */
function fold(text: string): string {
  const plain = text.normalize('NFKC').replaceAll(MARKS, '').replaceAll(FOREIGN_DIGITS, asciiDigit);
  return plain.replaceAll(ENCLOSED_DIGITS, enclosedDigit);
}

/**
 * Code points of the digit 1 in each series of nine enclosed digits. Only for series whose digits have no plain form in
 * Unicode. Enclosed zeros are handled separately.
 */
const ENCLOSED_ROWS = [0x24f5, 0x2776, 0x2780, 0x278a];
const ENCLOSED_DIGITS = /[\u24f5-\u24fd\u2776-\u277e\u2780-\u2788\u278a-\u2792\u24ff\u{1f10b}\u{1f10c}]/gu;

function enclosedDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  const row = ENCLOSED_ROWS.find((first) => first <= code && code < first + 9);
  return row === undefined ? '0' : String(code - row + 1);
}

/**
 * Combining marks, format characters and fillers, such as the frame of a keycap, a zero-width space or a Hangul filler.
 */
const MARKS = /[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const FOREIGN_DIGITS = /(?![0-9])\p{Nd}/gu;

/** Unicode encodes the ten digits of a script consecutively, sometimes directly after the digits of another script. */
function asciiDigit(digit: string): string {
  let before = (digit.codePointAt(0) ?? 0) - 1;
  let count = 0;
  while (/\p{Nd}/u.test(String.fromCodePoint(before))) {
    before -= 1;
    count += 1;
  }
  return String(count % 10);
}

/** By the prefixes that their issuers document. Some issuers share a prefix. */
const SECRET_FORMS = [
  '(?:sk|rk)_(?:live|test)_[\\w-]{8,}', // Stripe and Payonce
  'ok_[\\w-]{43}(?![\\w-])', // an operator of Payonce
  'whsec_[A-Za-z0-9+/=_-]{8,}', // Standard Webhooks, Stripe
  '(?:AKIA|ASIA)[A-Z0-9]{16}', // AWS
  'gh[opsur]_\\w{36}|github_pat_\\w{22,}', // GitHub
  'glpat-[\\w-]{20}', // GitLab
  'npm_\\w{36}',
  'xox[abeprs]-[A-Za-z0-9-]{10,}', // Slack
  'AIza[\\w-]{35}', // Google
  'SG\\.[\\w-]{16,}\\.[\\w-]{16,}', // SendGrid
  'SK[0-9a-f]{32}', // Twilio
  'shp(?:at|ca|pa|ss)_\\w{32}', // Shopify
  'sq0(?:atp|csp)-[\\w-]{22,}', // Square
  'access_token\\$\\w{7,10}\\$\\w{16}\\$\\w{32}', // PayPal Braintree
  'dop_v1_\\w{64}', // DigitalOcean
  'sk-[\\w-]{32,}', // OpenAI and others
  // A JSON Web Token. A match must start at the beginning of a segment whose next segment begins with `eyJ`, so that
  // the search takes linear time.
  '(?<![\\w-])(?=[\\w-]+\\.eyJ[\\w-]{8,}\\.[\\w-]{8})(?:[\\w-]*[_-])?eyJ[\\w-]{8,}\\.[\\w-]+\\.[\\w-]+',
].join('|');
const SECRET_PATTERN = `(?<![A-Za-z0-9])(?:${SECRET_FORMS})|-----BEGIN [A-Z ]*PRIVATE KEY-----`;
const SECRET = new RegExp(SECRET_PATTERN);
const ALL_SECRETS = new RegExp(SECRET_PATTERN, 'g');

/** ISO/IEC 7812: a card number has at most 19 digits. Networks that still issue cards use at least 14. */
const MIN_DIGITS = 14;
const MAX_DIGITS = 19;

/**
 * Number prefixes that card networks publish, as ranges, with the lengths in use. About one in fifty random numbers of
 * 16 digits is in one of these ranges with a correct check digit. Short numbers of networks that no longer issue cards
 * are excluded, because article numbers would match them.
 */
const NETWORKS: readonly (readonly [lengths: readonly number[], beginnings: string])[] = [
  [[16, 18, 19], '4'], // Visa, including Elo and Dankort
  [[16], '51-55 2221-2720'], // Mastercard
  [[15], '34 37 1800 2131'], // American Express, and JCB's old numbers
  [[14, 16, 19], '300-305 3095 36 38-39'], // Diners Club, including Hipercard
  [[16, 17, 18, 19], '6011 606-609 64-65 3528-3589 62 81-82 2200-2205'], // Discover, RuPay, Hipercard, JCB, UnionPay, Mir
  [[15, 16, 17, 18, 19], '50 56-59 63 67'], // Maestro, Verve, Elo, Hiper, InterPayment
  [[16, 19], '9792 8600 9860 9704'], // Troy, UzCard, Humo, Napas
];

/**
 * The gap between two digits of a number: no letter, and at most three other characters. A comma or semicolon followed
 * by white space is no gap, because it separates the numbers of a list.
 */
const GAP = '(?![,;]\\s)[^\\p{L}\\p{N}]{1,3}';
const DIGIT_RUNS = new RegExp(`\\d+(?:${GAP}\\d+)*`, 'gu');
/** Candidate numbers in unfolded text. The gaps may be wider, because the text still contains marks. */
const NUMERIC_RUNS = /\p{N}(?:[^\p{L}\p{N}]{0,8}\p{N})*/gu;

function hasCardNumber(plain: string): boolean {
  for (const [run] of plain.matchAll(DIGIT_RUNS)) {
    const groups = run.split(/\D+/);
    if (groups.some(beginsWithCardNumber) || groupsHoldCardNumber(groups, run.match(/\D+/g) ?? [])) return true;
  }
  return false;
}

/** Zeros may precede the number, and an expiry and check code may follow it. */
function beginsWithCardNumber(group: string): boolean {
  if (group.length < MIN_DIGITS) return false;
  const digits = group.replace(LEADING_ZEROS, '');
  if (isCardNumber(digits)) return true;
  for (let length = MIN_DIGITS; length <= MAX_DIGITS; length += 1) {
    if (EXPIRY.test(digits.slice(length)) && isCardNumber(digits.slice(0, length))) return true;
  }
  return false;
}

const LEADING_ZEROS = /^0+/;
/** MMYY or MMYYYY from 2020 to 2049, and optionally a check code of three or four digits. */
const EXPIRY = /^(?:0[1-9]|1[0-2])(?:20)?[2-4]\d(?:\d{3,4})?$/;

/** For example in `order 12 4242 4242 4242 4242`. */
function groupsHoldCardNumber(groups: readonly string[], gaps: readonly string[]): boolean {
  for (let first = 0; first < groups.length; first += 1) {
    let digits = groups[first]?.replace(LEADING_ZEROS, '') ?? '';
    // Skip groups of zeros before a number: a later iteration starts at the number's own first group.
    if (digits === '') continue;
    for (let last = first + 1; last < groups.length; last += 1) {
      digits += groups[last] ?? '';
      if (digits.length > MAX_DIGITS) break;
      if (isCardNumber(digits) && isCardGrouping(groups.slice(first, last + 1), gaps.slice(first, last), groups.length))
        return true;
    }
  }
  return false;
}

function isCardGrouping(groups: readonly string[], gaps: readonly string[], groupsInRun: number): boolean {
  const sizes = groups.map(({ length }) => length).join('-');
  const gapsAreEqual = gaps.every((gap) => gap === gaps[0]);
  return PRINTED.test(sizes) || (gapsAreEqual && EVEN.test(sizes)) || groupsInRun === 2;
}

/**
 * Matches the groups of digits as printed on cards: groups of four, which may be joined, or groups of four, six and the
 * remaining digits.
 */
const PRINTED = /^(?:(?:4|8|12)(?:-(?:4|8|12))*(?:-[1-3])?|4-6-[45]|6-(?:10|13))$/;
/** Matches groups of equal size, with one to three digits each, and the remaining digits. */
const EVEN = /^([1-3])(?:-\1)*(?:-[12])?$/;

function isCardNumber(digits: string): boolean {
  const { length } = digits;
  if (length < MIN_DIGITS || length > MAX_DIGITS || !passesLuhn(digits)) return false;
  return NETWORKS.some(([lengths, beginnings]) => lengths.includes(length) && beginnings.split(' ').some(begins));
  function begins(range: string): boolean {
    const [first = '', last = first] = range.split('-');
    const beginning = digits.slice(0, first.length);
    return first <= beginning && beginning <= last;
  }
}

/** ISO/IEC 7812-1, annex B. */
function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const weighted = index % 2 === 0 ? digit : digit * 2;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}

/** Numbers whose groups of digits can look like a card number. */
const KNOWN_NUMBERS = [
  '[A-Z]{2}\\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?', // an IBAN (ISO 13616)
  '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}', // a UUID
  '9[1-5]\\d\\d(?: ?\\d{4}){4} ?\\d\\d', // a USPS parcel
  'JJD[0-9 ]{16,25}', // a DHL parcel
].join('|');
const KNOWN = new RegExp(`(?<![A-Za-z0-9])(?:${KNOWN_NUMBERS})(?![A-Za-z0-9])`, 'g');
const IBAN_START = /^[A-Z]{2}\d/;

function withoutKnownNumbers(plain: string): string {
  return plain.replaceAll(KNOWN, (text) => (isKnown(text.replaceAll(' ', '')) ? '' : text));
}

function isKnown(number: string): boolean {
  if (IBAN_START.test(number)) return isIban(number);
  return !USPS.test(number) || isParcel(number);
}

const USPS = /^\d{22}$/;

/** USPS Publication 199, "MOD 10": weights of 3 and 1 from the right. */
function isParcel(number: string): boolean {
  const sum = Array.from(number).reduceRight(
    (total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 3 : 1),
    0,
  );
  return sum % 10 === 0;
}

/** ISO 7064, MOD 97-10. */
function isIban(iban: string): boolean {
  let rest = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
