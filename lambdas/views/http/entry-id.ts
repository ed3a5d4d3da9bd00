import type { Digest } from '../../kernel/digest.ts';
import { parsePaymentId } from '../../payments/ids.ts';
import type { BooksOwner, EntryPosition } from '../use/ledger-reader.ts';

const PREFIX = 'ent_';
const ENTRY_ID =
  /^(?<at>0|[1-9]\d{0,14}) (?<payment>\S+) (?<sequence>[1-9]\d{0,5}) (?<leg>0|[1-9]\d{0,3}) (?<checksum>[0-9a-f]{12})$/;
/**
 * 48 bits are enough to reject invented ids. Even if an invented id were accepted, the read would be limited to the
 * caller's own entries.
 */
const CHECKSUM_BYTES = 6;

/** The id is also a page cursor, and is valid only for the entry's owner. */
export function entryId(digest: Pick<Digest, 'sha256'>, owner: BooksOwner, position: EntryPosition): string {
  const { occurredAtMs, paymentId, sequence, leg } = position;
  const place = `${occurredAtMs} ${paymentId} ${sequence} ${leg}`;
  return PREFIX + Buffer.from(`${place} ${checksum(digest, owner, place)}`).toString('base64url');
}

/**
 * @returns undefined when the text is not an entry id that was derived for this owner; whether the entry exists is not
 * checked
 */
export function parseEntryId(
  digest: Pick<Digest, 'sha256'>,
  owner: BooksOwner,
  text: string,
): EntryPosition | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  const decoded = Buffer.from(text.slice(PREFIX.length), 'base64url').toString('utf8');
  const { at, payment = '', sequence, leg } = ENTRY_ID.exec(decoded)?.groups ?? {};
  const paymentId = parsePaymentId(payment);
  if (paymentId === undefined) return undefined;
  const position = { occurredAtMs: Number(at), paymentId, sequence: Number(sequence), leg: Number(leg) };
  return entryId(digest, owner, position) === text ? position : undefined;
}

function checksum(digest: Pick<Digest, 'sha256'>, { tenantId, mode }: BooksOwner, place: string): string {
  const bytes = digest.sha256(JSON.stringify(['entry', tenantId, mode, place])).subarray(0, CHECKSUM_BYTES);
  return Buffer.from(bytes).toString('hex');
}
