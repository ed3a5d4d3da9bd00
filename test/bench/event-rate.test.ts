import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { whole } from '../support/slice.ts';
import { deployedSettings, eventCpuOf, eventCpuTable, eventRates, eventRateTable } from './bench-event-rate.ts';

const PAGE = resolve(import.meta.dirname, '..', '..', 'docs', 'proof', 'benchmarks.md');

whole(test, { slice: test.skip })(
  'relay and projector process 2,000 events a second with the deployed settings, the relay from one shard',
  async () => {
    const settings = deployedSettings();
    const page = readFileSync(PAGE, 'utf8');
    const cpu = eventCpuOf(page);
    const rates = await eventRates(settings, cpu);
    expect(rates.filter(({ rate }) => rate < 2_000)).toEqual([]);
    expect(page).toContain(eventCpuTable(cpu));
    expect(page).toContain(await eventRateTable(settings, cpu));
  },
);
