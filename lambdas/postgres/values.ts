import { hex } from '../kernel/hash-chain.ts';
import type { Row } from './database.ts';

/** Statements receive rows as JSON text, so that their own text does not depend on the number of rows. */

/** The latest time whose ISO 8601 form has a four-digit year, which PostgreSQL can parse. */
const LATEST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export function timestamp(atMs: number): string {
  return new Date(Math.min(atMs, LATEST_MS)).toISOString();
}

/** Formats bytes for a `bytea` column. */
export function byteText(bytes: Uint8Array): string {
  return String.raw`\x${hex(bytes)}`;
}

/** Returns the values of a row that are not NULL: times in Unix milliseconds, and bytes as a plain `Uint8Array`. */
export function valuesOf(row: Row): Row {
  const values: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) {
    if (value === null) continue;
    values[column] = value instanceof Date ? value.getTime() : Buffer.isBuffer(value) ? new Uint8Array(value) : value;
  }
  return values;
}
