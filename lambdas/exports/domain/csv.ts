/**
 * A cell of a CSV file. Numbers and decimals are amounts or counts that Payonce computed. Strings are untrusted text.
 */
export type Cell = string | number | { readonly decimal: string } | undefined;

/**
 * Matches the position at which a cell begins with a formula (OWASP, "CSV Injection"). This includes cells that a
 * spreadsheet creates by splitting at a different separator or at line breaks. White space, quotes and control
 * characters before the formula are skipped. Full-width forms are included for spreadsheets that normalize them to
 * ASCII (Unicode, "Normalization Form KC").
 */
const FORMULA = /(?=[=+\-@%＝＋－＠％﹦﹢﹣﹫﹪⁼⁺₌₊﬩⩵⩶])(?<=(?:^|[,;|\t\r\n"])[\s\p{C}'"]*)/gu;
/** Matches a leading tab or line break, which some spreadsheets treat like the beginning of a formula. */
const LEADING = /^[\t\r\n]/;
/**
 * Matches cells that must be quoted: RFC 4180, section 2, rules 5 to 7, plus `;` for spreadsheets that use it as the
 * separator.
 */
const QUOTED = /[",;\r\n\t]|^\s|\s$/;

/** A cell that would begin a formula is prefixed with an apostrophe, which makes it text. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(field).join(',')}\r\n`;
}

function field(cell: Cell): string {
  if (cell === undefined) return '';
  if (typeof cell === 'number') return String(cell);
  if (typeof cell === 'object') return cell.decimal;
  const text = harmless(cell);
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function harmless(text: string): string {
  const guarded = text.replaceAll(FORMULA, "'");
  return LEADING.test(guarded) ? `'${guarded}` : guarded;
}
