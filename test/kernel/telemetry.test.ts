import { expect, test } from '@jest/globals';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { standardTelemetry } from '../../lambdas/kernel/platform/telemetry.ts';
import { catchWrittenLines } from '../support/written-lines.ts';

const lines = catchWrittenLines();

test('an alarm event is logged, and is counted twice: for its function, and across all functions for the alarm', () => {
  standardTelemetry('callbacks', systemInstruments).run('alarm', { late_success: 1 }, { late_success: 'pay_1' });
  const written = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(written).toMatchObject([
    { message: 'run', run: 'alarm', late_success: 'pay_1' },
    { service: 'alarms', late_success: 1 },
    { service: 'callbacks', late_success: 1 },
  ]);
});
