import { setTimeout as sleep } from 'node:timers/promises';

const POLL_INTERVAL_MS = 100;
/**
 * Maximum number of polls. All polls together take ten minutes, which is longer than any wait on a busy machine but
 * shorter than the time limit of a test, so that the error of `until` is reported.
 */
const MAX_POLLS = 6_000;

export async function until<Found>(look: () => Promise<Found | undefined>): Promise<Found> {
  for (let looks = 0; looks < MAX_POLLS; looks += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(POLL_INTERVAL_MS);
  }
  throw new Error('the awaited result did not appear within ten minutes');
}
