import { expect, test } from '@jest/globals';
import { lateEvents, RELAY } from '../../lambdas/events/http/event-telemetry.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { synthesize } from '../support/synth.ts';
import { catchWrittenLines } from '../support/written-lines.ts';

const lines = catchWrittenLines();

test('a job that publishes an event reports the event’s age in the metric of the relay, which raises the alarm', async () => {
  lateEvents({ instruments: systemInstruments })(300_000);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ service: RELAY, event_age: 300_000 }]);
  const { service } = await synthesize();
  service?.hasResourceProperties('AWS::CloudWatch::Alarm', {
    MetricName: 'event_age',
    Dimensions: [{ Name: 'service', Value: RELAY }],
    Threshold: 60_000,
    // The job runs every five minutes, so it reports the age in three of fifteen minutes.
    EvaluationPeriods: 15,
    DatapointsToAlarm: 3,
  });
});
