/**
 * C0, DEL and C1; the separators of lines and paragraphs; and the marks that embed, override or isolate the direction
 * of a text. They can falsify what a list, a log or a terminal shows (Unicode Technical Standard 55, "Unicode Source
 * Code Handling", section 1.1).
 */
const FORGING = String.raw`\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069`;

/** Also format characters, private-use characters, lone surrogates, and the replacement character. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\ufffd]/gu;

/** Makes a text of a processor, a vendor or a receiver safe to show in terminals and pages. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, ' ');
}

/**
 * Invisible characters: format characters, and characters without a glyph, which host names ignore (Unicode UTS 46,
 * section 4).
 */
export const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** A text of one line that may be shown unchanged. The API documents contain these patterns. */
export const ONE_LINE = /* @__PURE__ */ new RegExp(`^[^${FORGING}]*$`);
/**
 * A text for the merchant's own use. It may have line breaks and tabs, because no header, e-mail or log contains it.
 */
export const LINES = /* @__PURE__ */ new RegExp(String.raw`^(?:[^${FORGING}]|\t|\r?\n)*$`);
/** Like {@link ONE_LINE}, but not blank. */
export const ONE_LINE_NOT_BLANK = /* @__PURE__ */ new RegExp(
  String.raw`^[^${FORGING}\S]*[^${FORGING}\s][^${FORGING}]*$`,
);
