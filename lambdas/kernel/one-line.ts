/**
 * The control characters C0, DEL and C1; the separators of lines and paragraphs; and the marks that embed, override or
 * isolate the direction of a text. All of them can falsify what a list, a log or a terminal shows (Unicode Technical
 * Standard 55, "Unicode Source Code Handling", section 1.1).
 */
const FORGING = String.raw`\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069`;

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\ufffd]/gu;

/**
 * Replaces unprintable characters with spaces, so that terminals and pages can safely show text from a processor, a
 * vendor or a receiver.
 */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, ' ');
}

/**
 * Invisible characters: format characters, and characters without a glyph, which host names ignore (Unicode UTS 46,
 * section 4).
 */
export const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Matches a single line of text that may be shown unchanged. The API documentation contains this and the next two
 * patterns.
 */
export const ONE_LINE = /* @__PURE__ */ new RegExp(`^[^${FORGING}]*$`);
/**
 * Matches a text for the merchant's own use. The text may have line breaks and tabs, because no header, e-mail or log
 * contains it.
 */
export const MULTI_LINE = /* @__PURE__ */ new RegExp(String.raw`^(?:[^${FORGING}]|\t|\r?\n)*$`);
/** Like {@link ONE_LINE}, but not blank. */
export const ONE_LINE_NOT_BLANK = /* @__PURE__ */ new RegExp(
  String.raw`^[^${FORGING}\S]*[^${FORGING}\s][^${FORGING}]*$`,
);
