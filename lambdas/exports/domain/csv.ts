/** A number is an amount or a count computed by Payonce; a string is untrusted text. */
export type Cell = string | number | undefined;

/**
 * A character that begins a formula, at the start of a cell: of the file as it is, or of the file when a spreadsheet splits it at
 * another separator or breaks it at each line (OWASP, "CSV Injection"). White space, quotes and control characters before it do not
 * count. The other forms are for spreadsheets that fold them to ASCII (Unicode, "Normalization Form KC").
 */
const FORMULA = /(?=[=+\-@%＝＋－＠％﹦﹢﹣﹫﹪⁼⁺₌₊﬩⩵⩶])(?<=(?:^|[,;|\t\r\n"])[\s\p{C}'"]*)/gu;
/** Spreadsheets treat a leading tab or line break like the beginning of a formula. */
const LEADING = /^[\t\r\n]/;
/** RFC 4180, section 2, rules 5 to 7; `;` for spreadsheets that split there. */
const QUOTED = /[",;\r\n\t]|^\s|\s$/;

/**
 * One line of RFC 4180 with its end. A cell that would begin a formula is prefixed with an apostrophe, which makes it
 * text.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(field).join(',')}\r\n`;
}

function field(cell: Cell): string {
  if (cell === undefined) return '';
  if (typeof cell === 'number') return String(cell);
  const text = harmless(cell);
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function harmless(text: string): string {
  const guarded = text.replaceAll(FORMULA, "'");
  return LEADING.test(guarded) ? `'${guarded}` : guarded;
}
