import { describe, expect, test } from '@jest/globals';
import { readBridgeSettings } from '../../bridge/settings.ts';

const REQUESTS = {
  NATS_SERVERS: 'nats-1:4222, nats-2:4222',
  NATS_STREAM: 'PAYMENTS',
  NATS_SUBJECTS: 'payments.>',
  REQUESTS_QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/111122223333/requests',
};
const EVENTS = {
  NATS_SERVERS: 'nats-1:4222',
  EVENTS_QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/111122223333/events',
  EVENTS_PARKING_QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/111122223333/parked',
};

describe('the settings of the bridge', () => {
  test('have defaults', () => {
    expect(readBridgeSettings(REQUESTS)).toEqual({
      nats: { servers: ['nats-1:4222', 'nats-2:4222'], login: { kind: 'none' } },
      requests: {
        queueUrl: REQUESTS.REQUESTS_QUEUE_URL,
        stream: 'PAYMENTS',
        consumer: 'payonce-bridge',
        subjects: ['payments.>'],
        ackWaitSeconds: 30,
        inFlight: 50,
      },
      healthPort: 8_080,
    });
    expect(readBridgeSettings(EVENTS).events?.prefix).toBe('payonce.events');
  });

  test.each([
    [{ NATS_SERVERS: 'nats:4222' }, /neither REQUESTS_QUEUE_URL nor EVENTS_QUEUE_URL/],
    [{ ...REQUESTS, NATS_SERVERS: undefined }, /NATS_SERVERS is not set/],
    [{ ...REQUESTS, NATS_SERVERS: 'a,,b' }, /NATS_SERVERS must be addresses/],
    [{ ...REQUESTS, NATS_STREAM: 'a.b' }, /NATS_STREAM must be a name/],
    [{ ...REQUESTS, NATS_STREAM: undefined }, /NATS_STREAM is not set/],
    [{ ...REQUESTS, NATS_SUBJECTS: undefined }, /NATS_SUBJECTS is not set/],
    [{ ...REQUESTS, IN_FLIGHT: '0' }, /IN_FLIGHT must be 1 or more/],
    [{ ...REQUESTS, IN_FLIGHT: 'many' }, /IN_FLIGHT must be a whole number from 1 to 500/],
    [{ ...REQUESTS, HEALTH_PORT: '65536' }, /HEALTH_PORT must be 65535 or less/],
    [{ ...REQUESTS, REQUESTS_QUEUE_URL: 'requests' }, /REQUESTS_QUEUE_URL must be the address/],
    [{ ...REQUESTS, NATS_USER: 'shop' }, /NATS_USER and NATS_PASSWORD must be set together/],
    [{ ...REQUESTS, NATS_USER: 'a', NATS_PASSWORD: 'b', NATS_TOKEN: 'c' }, /only one of NATS_TOKEN/],
    [{ ...REQUESTS, NATS_NKEY_FILE: '/does/not/exist' }, /\/does\/not\/exist/],
    [{ ...REQUESTS, NATS_TLS_CERT_FILE: 'a.pem' }, /NATS_TLS_CERT_FILE and NATS_TLS_KEY_FILE must be set together/],
    [{ ...REQUESTS, NATS_TLS: 'false', NATS_TLS_CA_FILE: 'ca.pem' }, /NATS_TLS is false/],
    [{ ...EVENTS, EVENTS_PARKING_QUEUE_URL: undefined }, /EVENTS_PARKING_QUEUE_URL is not set/],
    [{ ...EVENTS, EVENTS_PREFIX: 'events.>' }, /EVENTS_PREFIX must be a subject without wildcards/],
  ])('refuse %j', (variables, reason) => {
    expect(() => readBridgeSettings(variables)).toThrow(reason);
  });
});
