/**
 * C0, DEL and C1; the separators of lines and paragraphs; and the marks that embed, override or isolate the direction of a text. They
 * forge what a list, a log or a terminal shows (Unicode Technical Standard 55, "Unicode Source Code Handling", section 1.1).
 */
const FORGING = String.raw`\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069`;

/** Besides those: format characters, those of private use, halves of a pair, and the mark of an unreadable byte. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\ufffd]/gu;

/** A text of a processor, a vendor or a receiver, as terminals and pages may show it. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, ' ');
}

/** Characters that nobody sees: format characters, and those without a shape, which names of hosts ignore (Unicode UTS 46, section 4). */
export const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** A text of one line that is shown as it is. The API documents contain the patterns. */
export const ONE_LINE = /* @__PURE__ */ new RegExp(`^[^${FORGING}]*$`);
/** A text of the merchant's own, which may have line breaks and tabs: it is in no header, e-mail or log. */
export const LINES = /* @__PURE__ */ new RegExp(String.raw`^(?:[^${FORGING}]|\t|\r?\n)*$`);
/** As {@link ONE_LINE}, and not blank. */
export const ONE_LINE_NOT_BLANK = /* @__PURE__ */ new RegExp(
  String.raw`^[^${FORGING}\S]*[^${FORGING}\s][^${FORGING}]*$`,
);
