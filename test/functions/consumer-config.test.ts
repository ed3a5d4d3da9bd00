import { describe, expect, test } from '@jest/globals';
import { readConsumerConfig, readPublisherConfig, readRelayConfig } from '../../lambdas/events/settings.ts';

const QUEUE = 'https://sqs.eu-west-1.amazonaws.com/1/parked';
const CONSUMER = { IDEMPOTENCY_TABLE: 'Idempotency', PARKING_QUEUE_URL: QUEUE };
const PUBLISHER = { LEDGER_TABLE: 'Ledger', REGISTRY_TABLE: 'Registry', EVENT_BUS: 'bus' };

describe('the settings of a consumer', () => {
  test('contain only those tables that the environment names', () => {
    expect(readConsumerConfig({ ...CONSUMER, VIEWS_TABLE: 'Views' })).toEqual({
      tables: { idempotency: 'Idempotency', views: 'Views' },
      parkingQueueUrl: QUEUE,
    });
  });

  test.each(Object.keys(CONSUMER))('are rejected without %s, and the error names the variable', (name) => {
    expect(() => readConsumerConfig({ ...CONSUMER, [name]: undefined })).toThrow(name);
  });
});

describe('the settings of the publishers', () => {
  test('must name the Ledger, the Registry, the event bus and, for the relay, the parking queue', () => {
    expect(readPublisherConfig(PUBLISHER)).toEqual({
      tables: { ledger: 'Ledger', registry: 'Registry' },
      eventBus: 'bus',
    });
    expect(readRelayConfig({ ...PUBLISHER, PARKING_QUEUE_URL: QUEUE })).toMatchObject({ parkingQueueUrl: QUEUE });
    expect(() => readRelayConfig(PUBLISHER)).toThrow('PARKING_QUEUE_URL');
    expect(() => readPublisherConfig({ ...PUBLISHER, EVENT_BUS: '' })).toThrow('EVENT_BUS must be the name');
  });
});
