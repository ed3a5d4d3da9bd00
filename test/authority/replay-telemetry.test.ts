import { expect, test } from '@jest/globals';
import { replayTelemetry } from '../../lambdas/authority/replay-telemetry.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { catchWrittenLines } from '../support/written-lines.ts';

const lines = catchWrittenLines();

test('hits, misses and failed writes of the replay cache are counted, and a failed write is logged with its code only', () => {
  const telemetry = replayTelemetry(systemInstruments);
  telemetry.hit();
  telemetry.missed();
  telemetry.notStored(new RetryableError('store_unavailable', 'a message with personal data'));
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { service: 'replay-cache', replay_cache_hits: 1, replay_cache_missed: 0 },
    { service: 'replay-cache', replay_cache_hits: 0, replay_cache_missed: 1 },
    { level: 'WARN', message: 'replay_not_cached', error: 'store_unavailable' },
    { service: 'replay-cache', replay_cache_failed_writes: 1 },
  ]);
  expect(lines.join()).not.toContain('personal');
});
