import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_EVERY_MS = 100;
const MAX_LOOKS = 300;

/** Looks again until what is waited for is there; for half a minute. */
export async function until<Found>(look: () => Promise<Found | undefined>): Promise<Found> {
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error('it did not come');
}
