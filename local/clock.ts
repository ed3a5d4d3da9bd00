import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { EmulatorAccess } from './emulator-environment.ts';
import { StartFailure } from './failure.ts';

export const UNITS_MS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 } as const;
/** local/clock.py writes this file in the directory of the emulator's state. */
const FILE = 'clock.json';

/**
 * @param state the directory of the emulator's state
 * @throws StartFailure when the file is damaged, because without the offset the clock would be earlier than stored
 * times
 */
export function clockOffsetMs(state: string): number {
  const file = join(state, FILE);
  if (!existsSync(file)) return 0;
  try {
    return z.object({ offsetMs: z.int().min(0) }).parse(JSON.parse(readFileSync(file, 'utf8'))).offsetMs;
  } catch (error) {
    throw new StartFailure(`${file} does not contain the offset of the clock: {"offsetMs":<number>}.`, {
      cause: error,
    });
  }
}

/**
 * Functions restart before their next invocation.
 *
 * @returns how far the clock is ahead of this machine's clock, in milliseconds
 * @throws StartFailure when the local AWS refuses, for example because the clock would be too far ahead
 */
export async function advanceClock({ awsEndpoint, accessKeyId }: EmulatorAccess, byMs: number): Promise<number> {
  const answer = await fetch(`${awsEndpoint}/_payonce/clock`, {
    method: 'POST',
    headers: { authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/` },
    body: JSON.stringify({ advance_ms: byMs }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new StartFailure(`The local AWS did not advance its clock: ${text}`);
  return z.object({ offset_ms: z.int() }).parse(JSON.parse(text)).offset_ms;
}

/** Whole seconds, for example `3d 12h`; empty for less than a second. */
export function durationOf(durationMs: number): string {
  let restMs = durationMs;
  return Object.entries(UNITS_MS)
    .map(([unit, unitMs]) => {
      const count = Math.floor(restMs / unitMs);
      restMs -= count * unitMs;
      return count === 0 ? '' : `${count}${unit}`;
    })
    .filter(Boolean)
    .join(' ');
}
