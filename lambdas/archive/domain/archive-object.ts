import type { Digest } from '../../kernel/digest.ts';
import { hex } from '../../kernel/hash-chain.ts';
import { type ArchiveLine, lineText } from './archive-line.ts';

export const LINES_PREFIX = 'ledger/';

/**
 * Prefix of late objects, whose rows can be much older than the hour in the key. That hour is the one in which an
 * operator added the object, or in which the first of its rows was copied to the Ledger, long after the row's time.
 * Sorts after all hours under {@link LINES_PREFIX}.
 */
export const LATE_PREFIX = `${LINES_PREFIX}late/`;

/** The S3 key is derived from the content, so equal lines yield the same object. */
export interface ArchiveObject {
  readonly name: string;
  /** Newline-delimited JSON, UTF-8. Each line ends with a line feed. */
  readonly text: string;
  readonly sha256: Uint8Array;
}

export const LINES_NAME =
  /^ledger\/(?:late\/)?(?<hour>\d{4}\/\d{2}\/\d{2}\/\d{2})\/(?<first>\d+)-(?<sha256>[0-9a-f]{64})\.ndjson$/;

/**
 * @param lines at least one line, in the order of the Stream
 * @param lateAtMs the hour of the key in Unix milliseconds, only for lines whose rows can be much older
 */
export function archiveObject(
  digest: Digest,
  lines: readonly [ArchiveLine, ...ArchiveLine[]],
  lateAtMs?: number,
): ArchiveObject {
  const text = lines.map((line) => `${lineText(digest, line)}\n`).join('');
  const sha256 = digest.sha256(text);
  const oldestMs = Math.min(...lines.map(({ atMs }) => atMs));
  const first = lines[0].sequence ?? '0';
  const hour = lateAtMs === undefined ? `${LINES_PREFIX}${hourPath(oldestMs)}` : `${LATE_PREFIX}${hourPath(lateAtMs)}`;
  return { name: `${hour}/${first}-${hex(sha256)}.ndjson`, text, sha256 };
}

/** For example `2026/11/23/14`, in UTC. */
export function hourPath(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 13).replaceAll(/[-T]/g, '/');
}
