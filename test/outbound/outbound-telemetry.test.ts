import { expect, test } from '@jest/globals';
import * as z from 'zod';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { outboundTelemetry } from '../../lambdas/outbound/outbound-telemetry.ts';
import { catchWrittenLines } from '../support/written-lines.ts';

const line = z.looseObject({
  _aws: z.looseObject({
    CloudWatchMetrics: z.array(
      z.object({
        Namespace: z.string(),
        Dimensions: z.array(z.array(z.string())),
        Metrics: z.array(z.looseObject({ Name: z.string() })),
      }),
    ),
  }),
});

const lines = catchWrittenLines();

test('each count is logged immediately, on one line that names the vendor', () => {
  const { count } = outboundTelemetry(systemInstruments);
  count('postmark', 'outbound_call');
  count('stock', 'outbound_gave_up');
  const written = lines.map((text) => line.parse(JSON.parse(text)));
  expect(written).toMatchObject([
    { service: 'vendors', vendor: 'postmark', outbound_call: 1 },
    { service: 'vendors', vendor: 'stock', outbound_gave_up: 1 },
  ]);
  for (const { _aws: embedded } of written) {
    expect(embedded.CloudWatchMetrics).toMatchObject([
      { Namespace: 'Payonce', Dimensions: [['service', 'vendor']], Metrics: [{ Unit: 'Count' }] },
    ]);
  }
});
