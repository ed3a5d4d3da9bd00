/**
 * Finds what must not be kept: card numbers and secret keys, in any text that a client sends. Payments are made with
 * tokens; a card number in a note is a mistake that must not reach a log, an event or a table.
 */
export type SensitiveKind = 'card_number' | 'secret';

export function findSensitive(text: string): SensitiveKind | undefined {
  // Wide digits and the like become plain ones; what cannot be seen does not split a number.
  const plain = text.normalize('NFKC').replaceAll(INVISIBLE, '');
  if (SECRET.test(plain)) return 'secret';
  return hasCardNumber(plain) ? 'card_number' : undefined;
}

/** For logs: the text with all that is sensitive taken out. */
export function redactSensitive(text: string): string {
  return text
    .replaceAll(ALL_SECRETS, '[secret]')
    .replaceAll(DIGIT_GROUPS, (run) => (hasCardNumber(run) ? '[card number]' : run));
}

const INVISIBLE = /[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]/g;

/** API keys and webhook secrets of payment providers (ours and others share the form), AWS access keys, private keys. */
const SECRET_FORMS =
  '(?<![A-Za-z0-9])(?:(?:sk|rk)_(?:live|test)_[A-Za-z0-9_-]{8,}|whsec_[A-Za-z0-9+/=_-]{8,}|(?:AKIA|ASIA)[A-Z0-9]{16})' +
  '|-----BEGIN [A-Z ]*PRIVATE KEY-----';
const SECRET = new RegExp(SECRET_FORMS);
const ALL_SECRETS = new RegExp(SECRET_FORMS, 'g');

/** ISO/IEC 7812: a card number has up to 19 digits; the shortest in use that is worth the false alarms has 13. */
const MIN_DIGITS = 13;
const MAX_DIGITS = 19;

/** Groups of digits with a space, a dash or a dot between them. */
const DIGIT_GROUPS = /\d+(?:[\s\p{Pd}.]{1,2}\d+)*/gu;

/**
 * Who issues which numbers, with the lengths in use. Together with the check digit, one random number of 16 digits in
 * some fifty is taken for a card's.
 */
const ISSUERS: readonly RegExp[] = [
  /^4(?:\d{12}|\d{15}|\d{18})$/, // Visa
  /^(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}$/, // Mastercard
  /^3[47]\d{13}$/, // American Express
  /^(?:6011|64[4-9]\d|65\d\d)\d{12,15}$/, // Discover
  /^35(?:2[89]|[3-8]\d)\d{12,15}$/, // JCB
  /^3(?:0[0-5]|09|[689]\d)\d{11,16}$/, // Diners Club
  /^62\d{14,17}$/, // UnionPay
  /^(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{9,15}$/, // Maestro
  /^220[0-4]\d{12,15}$/, // Mir
];

function hasCardNumber(text: string): boolean {
  for (const [run] of text.matchAll(DIGIT_GROUPS)) {
    if (groupsHoldCardNumber(run.split(/\D+/))) return true;
  }
  return false;
}

/** A number begins and ends where a group does: `order 12, 4242 4242 4242 4242` holds one. */
function groupsHoldCardNumber(groups: readonly string[]): boolean {
  for (let first = 0; first < groups.length; first += 1) {
    let digits = '';
    for (let last = first; last < groups.length && digits.length <= MAX_DIGITS; last += 1) {
      digits += groups[last] ?? '';
      if (isCardNumber(digits)) return true;
    }
  }
  return false;
}

function isCardNumber(digits: string): boolean {
  if (digits.length < MIN_DIGITS || digits.length > MAX_DIGITS) return false;
  return ISSUERS.some((issuer) => issuer.test(digits)) && passesLuhn(digits);
}

/** The check digit of ISO/IEC 7812-1, annex B. */
function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const weighted = index % 2 === 0 ? digit : digit * 2;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}
