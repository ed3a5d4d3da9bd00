/**
 * ISO 4217 currencies with their number of decimals. Amounts are integers in minor units everywhere, so the decimals
 * are needed only for limits and display. A currency that ISO 4217 withdraws stays in this list, because recorded
 * payments can have it.
 */
const DECIMALS_BY_CURRENCIES: readonly (readonly [decimals: number, codes: string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'],
  [
    2,
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC ' +
      'CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR ' +
      'JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD ' +
      'NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN ' +
      'SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG',
  ],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
];

/** BGN was replaced by EUR on 1 January 2026 (ISO 4217, amendment 180). */
const WITHDRAWN: readonly string[] = ['BGN'];

const DECIMALS: ReadonlyMap<string, number> = new Map(
  DECIMALS_BY_CURRENCIES.flatMap(([decimals, codes]) => codes.split(' ').map((code) => [code, decimals] as const)),
);

/** The largest payment has at most twelve digits, so that sums of thousands of payments stay safe integers. */
const LARGEST_AMOUNT_MINOR_BY_DECIMALS: ReadonlyMap<number, number> = new Map([
  [0, 9_999_999_999],
  [2, 999_999_999_999],
  [3, 999_999_999_999],
]);

/** The currencies that a recorded payment can have. */
export const CURRENCIES: readonly string[] = [...DECIMALS.keys()].sort();
/** The currencies that a new payment can have. */
export const ACTIVE_CURRENCIES = CURRENCIES.filter((code) => !WITHDRAWN.includes(code));

export function isCurrency(code: string): boolean {
  return DECIMALS.has(code);
}

/** Undefined for an unknown currency. */
export function largestAmountMinor(currency: string): number | undefined {
  const decimals = DECIMALS.get(currency);
  return decimals === undefined ? undefined : LARGEST_AMOUNT_MINOR_BY_DECIMALS.get(decimals);
}

function decimalsOf(currency: string): number {
  return DECIMALS.get(currency) ?? 0;
}

/** For people, as `10.00 EUR`. */
export function shownAmount(amountMinor: number, currency: string): string {
  return `${decimalAmount(amountMinor, currency)} ${currency}`;
}

/** With all decimals of the currency, as `10.00`. */
export function decimalAmount(amountMinor: number, currency: string): string {
  if (amountMinor < 0) return `-${decimalAmount(-amountMinor, currency)}`;
  const decimals = decimalsOf(currency);
  if (decimals === 0) return String(amountMinor);
  const digits = String(amountMinor).padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/**
 * Parses an amount that a person wrote, such as `6`, `6.5` or `6.50`. The text has digits and at most one point,
 * without thousands separators, sign, exponent or spaces. The inverse of {@link decimalAmount}.
 *
 * @returns minor units; undefined when the currency is unknown, or the text does not have this form, has more decimals
 * than the currency, or exceeds 2^53 - 1
 */
export function parseAmount(text: string, currency: string): number | undefined {
  const decimals = DECIMALS.get(currency);
  const [, whole, part = ''] = /^(0|[1-9]\d{0,15})(?:\.(\d{1,3}))?$/.exec(text) ?? [];
  if (decimals === undefined || whole === undefined || part.length > decimals) return undefined;
  const amountMinor = Number(whole + part.padEnd(decimals, '0'));
  return Number.isSafeInteger(amountMinor) ? amountMinor : undefined;
}

/** For messages, as `600` or `600.00`. */
export function exampleAmount(currency: string): string {
  return decimalAmount(600 * 10 ** decimalsOf(currency), currency);
}
