import { UNSEEN } from './one-line.ts';

/** In characters. Mail programs break longer lines, and no field of a receipt needs more. */
const LONGEST_LINE = 200;
/** They include line breaks, and marks that reverse the direction of a text. */
const INVISIBLE = /[\p{C}\p{Z}]+/gu;
/**
 * Matches text that mail programs turn into a link: a URL scheme, `www.`, an `@`, or a name followed by a dot and
 * letters.
 */
const LINK = /:\/\/|www\.|@|[\p{L}\p{N}]\.\p{L}{2,}/iu;

/**
 * Converts a merchant's text to one line of an e-mail to a payer, without text that a mail program would show as a
 * link.
 *
 * @returns undefined for a text that contains a link, or has no content
 */
export function mailLine(text: string): string | undefined {
  const line = text.normalize('NFKC').replaceAll(INVISIBLE, ' ').trim();
  const seen = line.replaceAll(UNSEEN, '').replaceAll(DOTS, '.');
  if (seen.trim() === '' || LINK.test(seen)) return undefined;
  const characters = Array.from(line);
  return characters.length <= LONGEST_LINE ? line : `${characters.slice(0, LONGEST_LINE - 1).join('')}…`;
}

/**
 * Characters that browsers read as a full stop in a host name (RFC 3490, section 3.1), and the one dot leader (U+2024).
 */
const DOTS = /[\u3002\uff0e\uff61\u2024]/g;
