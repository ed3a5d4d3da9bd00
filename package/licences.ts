/** Licences that ask for no more than a notice. Not here: copyleft, licences of one's own, and none. */
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
 * Whether code with this licence may be in what is deployed or packed.
 *
 * @param license an SPDX expression. Of alternatives, one is enough; one with `AND` needs all of its parts.
 */
export function isAllowedLicence(license: string): boolean {
  const parts = license.replaceAll(/[()]/g, '').split(/ (?:OR|AND) /);
  const allowed = parts.filter((part) => ALLOWED.has(part)).length;
  return license.includes(' AND ') ? allowed === parts.length : allowed > 0;
}
