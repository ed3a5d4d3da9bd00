import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_EVERY_MS = 100;
/** Ten minutes: far longer than anything takes on a busy machine, and less than a test may take, so that this is what fails. */
const MAX_LOOKS = 6_000;

/** Looks again until what is waited for is there. */
export async function until<Found>(look: () => Promise<Found | undefined>): Promise<Found> {
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error('it did not come');
}
