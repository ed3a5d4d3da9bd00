const ALLOWED: ReadonlySet<string> = new Set([
  'MIT',
  'MIT-0',
  'Apache-2.0',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'Unlicense',
]);

/**
 * @param license an SPDX expression. One allowed alternative of an `OR` is enough; with `AND`, all licences must be
 * allowed.
 */
export function isAllowedLicence(license: string): boolean {
  const parts = license.replaceAll(/[()]/g, '').split(/ (?:OR|AND) /);
  const allowed = parts.filter((part) => ALLOWED.has(part)).length;
  return license.includes(' AND ') ? allowed === parts.length : allowed > 0;
}
