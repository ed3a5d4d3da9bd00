/** Tests the guarantee "requested payments". */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Message, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { credsAuthenticator, type NatsConnection, nkeys } from '@nats-io/transport-node';
import type { SQSRecord } from 'aws-lambda';
import { SimulatedIntake } from '../intake/intake-site.ts';
import { until } from '../support/until.ts';
import {
  BridgeProcess,
  LOGIN,
  makeQueue,
  makeStream,
  NatsServer,
  SqsGate,
  sqsClient,
  takeUntil,
  unique,
} from './bridge-world.ts';
import { CERTIFICATES, signedAccounts, TLS_OF_SERVER } from './nats-access.ts';

const nkey = nkeys.createUser();
const server = new NatsServer(
  `authorization { users: [ { user: ${LOGIN.user}, password: ${LOGIN.pass} }, { nkey: ${nkey.getPublicKey()} } ] }`,
);
const files = mkdtempSync(join(tmpdir(), 'payonce-bridge-files-'));
const nkeyFile = join(files, 'user.nk');
let nats: NatsConnection;
let gate: SqsGate;
let sqs: ReturnType<typeof sqsClient>;
const bridges: BridgeProcess[] = [];

beforeAll(async () => {
  sqs = sqsClient();
  writeFileSync(nkeyFile, `${new TextDecoder().decode(nkey.getSeed())}\n`);
  await server.start();
  nats = await server.connect();
});

afterEach(async () => {
  for (const bridge of bridges.splice(0)) await bridge.end('SIGKILL');
  gate.close();
});

afterAll(async () => {
  await nats.close();
  await server.remove();
  await BridgeProcess.removeBundle();
  rmSync(files, { recursive: true });
  sqs.destroy();
});

const BY_PASSWORD = { NATS_USER: LOGIN.user, NATS_PASSWORD: LOGIN.pass };

async function way(
  variables: Readonly<Record<string, string>> = {},
  login: Readonly<Record<string, string>> = BY_PASSWORD,
  at = { server, nats },
) {
  const subject = unique('payments');
  const stream = await makeStream(at.nats, `${subject}.>`);
  const queueUrl = await makeQueue(sqs);
  gate = new SqsGate();
  await gate.open();
  const startBridge = async (): Promise<BridgeProcess> => {
    const bridge = await BridgeProcess.start(gate.endpoint, {
      NATS_SERVERS: `127.0.0.1:${at.server.port}`,
      ...login,
      NATS_STREAM: stream,
      NATS_SUBJECTS: `${subject}.>`,
      NATS_ACK_WAIT_SECONDS: '1',
      REQUESTS_QUEUE_URL: gate.through(queueUrl),
      ...variables,
    });
    bridges.push(bridge);
    return bridge;
  };
  const publish = async (payload: string | Uint8Array, name = 'shop') =>
    jetstream(at.nats).publish(`${subject}.${name}`, payload, { retries: 50 });
  const untilSettled = () =>
    until(async () => {
      const { num_pending, num_ack_pending } = await (await jetstreamManager(at.nats)).consumers.info(
        stream,
        'payonce-bridge',
      );
      return num_pending + num_ack_pending === 0 ? true : undefined;
    });
  const take = (isEnough: (messages: readonly Message[]) => boolean) => takeUntil(sqs, queueUrl, isEnough);
  return { subject, stream, startBridge, publish, untilSettled, take };
}

const bodies = (messages: readonly Message[]) => messages.map(({ Body }) => Body ?? '');
const distinct = (messages: readonly Message[]) => new Set(bodies(messages));

const recordsOf = (site: SimulatedIntake, messages: readonly Message[]) =>
  messages.map(({ Body = '', MessageAttributes = {} }) => {
    expect(MessageAttributes['subject']?.StringValue).toMatch(/^payments-.+\.shop$/);
    return site.onSubject(Body);
  });

async function handleAll(site: SimulatedIntake, records: readonly SQSRecord[]): Promise<void> {
  for (let waiting = [...records], rounds = 0; waiting.length > 0; rounds += 1) {
    expect(rounds).toBeLessThan(records.length + 10);
    const batch = waiting.splice(0, 10);
    const again = (await site.deliver(batch)) ?? [];
    waiting.push(...batch.filter(({ messageId }) => again.includes(messageId)));
  }
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `{"event_id":"${index}"}`);

describe('a NATS message', () => {
  test('reaches the queue with its subject, whatever its payload (a long one is truncated), and is then acknowledged', async () => {
    const { publish, startBridge, take, subject, stream, untilSettled } = await way();
    const long = new Uint8Array(1_000_000).fill(97);
    const odd = ['{"amount":1000,"name":"Zoë"}', '', new Uint8Array([0xff, 0xfe]), 'a\u0000b', long];
    for (const payload of odd) await publish(payload);
    await startBridge();
    const messages = await take(({ length }) => length >= odd.length);
    await untilSettled();
    const bySequence = messages
      .map(({ Body, MessageAttributes = {} }) => ({
        body: Body ?? '',
        ...Object.fromEntries(Object.entries(MessageAttributes).map(([name, { StringValue }]) => [name, StringValue])),
      }))
      .sort((a, b) => Number((a as { sequence?: string }).sequence) - Number((b as { sequence?: string }).sequence));
    const of = (sequence: number, bytes: number) => ({
      subject: `${subject}.shop`,
      stream,
      sequence: String(sequence),
      bytes: String(bytes),
    });
    const base64 = { encoding: 'base64' };
    expect(bySequence).toEqual([
      { body: odd[0], ...of(1, 29) },
      { body: '=', ...base64, ...of(2, 0) },
      { body: '//4=', ...base64, ...of(3, 2) },
      { body: 'YQBi', ...base64, ...of(4, 3) },
      { body: Buffer.from(long.subarray(0, 180_000)).toString('base64'), ...base64, ...of(5, 1_000_000) },
    ]);
  });

  test('is redelivered but charged only once if the bridge is killed between the send to the queue and the acknowledgement', async () => {
    const { publish, startBridge, take, untilSettled } = await way();
    const site = new SimulatedIntake();
    const request = JSON.stringify(site.request());
    await publish(request);
    const first = await startBridge();
    gate.after = () => first.kill();
    expect(await first.ended()).toBe('SIGKILL');
    gate.after = () => undefined;
    const second = await startBridge();
    const taken = await take(({ length }) => length >= 2);
    expect(bodies(taken)).toEqual([request, request]);
    await untilSettled();
    await handleAll(site, [...recordsOf(site, taken), site.onBus(site.request())]);
    expect(site.charged()).toBe(1);
    expect(site.parkedReasons).toEqual([]);
    expect((await second.health()).body).toMatchObject({ requests: { carried: 1, redelivered: 1, failures: 0 } });
  });

  test('is never lost, and is charged once, even if the bridge and the server are killed repeatedly', async () => {
    const { publish, startBridge, take, untilSettled } = await way();
    const site = new SimulatedIntake();
    const ids = Array.from({ length: 60 }, () => randomUUID());
    const sent = ids.map((id) => JSON.stringify(site.request({ event_id: id })));
    // ECS replaces a task that exits by itself, for example because the server is unavailable when the bridge starts.
    const keepBridge = async (): Promise<BridgeProcess> => {
      const started = await startBridge();
      void replaceWhenEnded(started);
      return started;
    };
    const replaceWhenEnded = async (ended: BridgeProcess): Promise<void> => {
      if ((await ended.ended()) === 1) bridge = await keepBridge();
    };
    let bridge = await keepBridge();
    const publishing: Promise<unknown>[] = [];
    /** Waits until the bridge processes some of the messages. */
    const publishSome = async (third: number) => {
      const few = Promise.withResolvers<void>();
      let called = 0;
      gate.before = () => {
        called += 1;
        if (called === 5) few.resolve();
        return 'pass';
      };
      publishing.push(...sent.slice(20 * third, 20 * (third + 1)).map((body) => publish(body)));
      await few.promise;
    };
    for (let round = 0; round < 2; round += 1) {
      await publishSome(round);
      bridge.kill();
      await server.kill();
      bridge = await keepBridge();
      await server.start();
    }
    await publishSome(2);
    // The bridge reconnects by itself.
    await server.kill();
    await server.start();
    await Promise.all(publishing);
    const taken = await take((messages) => distinct(messages).size >= sent.length);
    expect(distinct(taken)).toEqual(new Set(sent));
    await untilSettled();
    await until(async () => ((await bridge.health()).status === 200 ? true : undefined));
    await handleAll(site, recordsOf(site, taken));
    expect(ids.filter((id) => site.charged(id) !== 1)).toEqual([]);
  });

  test('waits while the queue refuses it, and delays no other messages', async () => {
    const { publish, startBridge, take, untilSettled } = await way();
    let isDown = true;
    gate.before = (_, body) => (isDown && body.includes('unlucky') ? 'refuse' : 'pass');
    const bridge = await startBridge();
    await publish('unlucky');
    await until(async () => ((await bridge.health()).status === 503 ? true : undefined));
    for (const body of numbered(20)) await publish(body);
    expect((await take(({ length }) => length >= 20)).length).toBe(20);
    isDown = false;
    expect(bodies(await take(({ length }) => length >= 1))).toEqual(['unlucky']);
    await untilSettled();
    expect(await bridge.health()).toMatchObject({ status: 200, body: { status: 'ok', requests: { carried: 21 } } });
  });

  test('waits in the stream instead of the memory of the bridge while the queue is slow', async () => {
    const { publish, startBridge, take, untilSettled } = await way({ IN_FLIGHT: '4' });
    const sent = numbered(40);
    await Promise.all(sent.map((body) => publish(body)));
    let called = 0;
    const four = Promise.withResolvers<void>();
    gate.before = async () => {
      called += 1;
      if (called === 4) four.resolve();
      await four.promise;
      return sleep(20, 'pass');
    };
    await startBridge();
    const taken = await take((messages) => distinct(messages).size >= sent.length);
    await untilSettled();
    expect(distinct(taken)).toEqual(new Set(sent));
    expect(gate.mostAtOnce).toBe(4);
  });

  test('in progress is acknowledged before the bridge stops; the next bridge processes all others', async () => {
    const variables = { IN_FLIGHT: '3', NATS_ACK_WAIT_SECONDS: '3' };
    const { publish, startBridge, take, untilSettled } = await way(variables, { NATS_NKEY_FILE: nkeyFile });
    const sent = numbered(6);
    for (const body of sent) await publish(body);
    let called = 0;
    gate.before = () => {
      called += 1;
      return sleep(300, 'pass');
    };
    const first = await startBridge();
    await until(async () => (called >= 3 ? true : undefined));
    expect(await first.end('SIGTERM')).toBe(0);
    const calledByFirst = called;
    expect(first.lines.join()).toContain('stopped');
    const before = await take(({ length }) => length >= calledByFirst);
    gate.before = () => 'pass';
    await startBridge();
    await untilSettled();
    const rest = calledByFirst === sent.length ? [] : await take((all) => distinct([...before, ...all]).size >= 6);
    expect([...bodies(before), ...distinct(rest)].sort()).toEqual(sent);
  });
});

describe('a server that requires a login and a client certificate', () => {
  const TOKEN = 'a-token-of-the-bridge';
  const accounts = signedAccounts();
  const credentials = join(files, 'user.creds');
  writeFileSync(credentials, accounts.credentials);
  const admitting = {
    token: `authorization { token: "${TOKEN}" }`,
    credentials: accounts.access,
  } as const;

  test.each([
    ['token', { token: TOKEN }, { NATS_TOKEN: TOKEN }],
    [
      'credentials',
      { authenticator: credsAuthenticator(Buffer.from(accounts.credentials)) },
      { NATS_CREDENTIALS_FILE: credentials },
    ],
  ] as const)(
    'sends messages over TLS to a bridge with the required %s, and refuses a bridge without login, certificate or TLS',
    async (kind, login, own) => {
      const tls = { caFile: CERTIFICATES.ca, certFile: CERTIFICATES.client, keyFile: CERTIFICATES.clientKey };
      const secured = new NatsServer(`${admitting[kind]}\n${TLS_OF_SERVER}`, { ...login, tls });
      await secured.start();
      const at = { server: secured, nats: await secured.connect() };
      try {
        const certified = {
          NATS_TLS_CA_FILE: CERTIFICATES.ca,
          NATS_TLS_CERT_FILE: CERTIFICATES.client,
          NATS_TLS_KEY_FILE: CERTIFICATES.clientKey,
        };
        const { publish, startBridge, take, untilSettled } = await way({}, { ...own, ...certified }, at);
        const refused = [certified, { ...own, NATS_TLS: 'true' }, own].map(async (missing) => {
          const bridge = await BridgeProcess.start(gate.endpoint, {
            NATS_SERVERS: `127.0.0.1:${secured.port}`,
            ...missing,
            NATS_STREAM: 'any',
            NATS_SUBJECTS: 'any',
            REQUESTS_QUEUE_URL: gate.through('http://127.0.0.1/1/any'),
          });
          bridges.push(bridge);
          return bridge;
        });
        await publish('{"event_id":"1"}');
        await startBridge();
        expect(bodies(await take(({ length }) => length >= 1))).toEqual(['{"event_id":"1"}']);
        await untilSettled();
        for (const bridge of await Promise.all(refused)) {
          expect(await bridge.health()).toMatchObject({ status: 503, body: { nats: { connected: false } } });
        }
      } finally {
        await at.nats.close();
        await secured.remove();
      }
    },
  );
});

describe('a bus event', () => {
  const busEvent = (id: string) => ({
    source: 'payonce',
    'detail-type': 'payment.completed.v1',
    detail: { tenant: 'ten_shop', mode: 'test', event: { id, sequence: 2 } },
  });

  async function outgoing() {
    const prefix = unique('events');
    const stream = await makeStream(nats, `${prefix}.>`);
    const manager = await jetstreamManager(nats);
    const queueUrl = await makeQueue(sqs, 1);
    const parking = await makeQueue(sqs);
    gate = new SqsGate();
    await gate.open();
    const startBridge = async (): Promise<BridgeProcess> => {
      const bridge = await BridgeProcess.start(gate.endpoint, {
        NATS_SERVERS: `127.0.0.1:${server.port}`,
        ...BY_PASSWORD,
        EVENTS_QUEUE_URL: gate.through(queueUrl),
        EVENTS_PARKING_QUEUE_URL: gate.through(parking),
        EVENTS_PREFIX: prefix,
      });
      bridges.push(bridge);
      return bridge;
    };
    const put = async (body: unknown) => {
      const MessageBody = typeof body === 'string' ? body : JSON.stringify(body);
      await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody }));
    };
    const stored = async () => {
      const info = await manager.streams.info(stream).catch(() => undefined);
      return info?.state.messages;
    };
    return { prefix, stream, parking, startBridge, put, stored };
  }

  test('is stored under the subject of its tenant and event name, with the event id as Nats-Msg-Id; a malformed message is parked', async () => {
    const { prefix, stream, startBridge, put, parking, stored } = await outgoing();
    await put('not JSON');
    await put(busEvent('evt_1'));
    await startBridge();
    await until(async () => ((await stored()) === 1 ? true : undefined));
    const message = await (await jetstreamManager(nats)).streams.getMessage(stream, { seq: 1 });
    expect(message?.subject).toBe(`${prefix}.ten_shop.payment.completed.v1`);
    expect(message?.header.get('Nats-Msg-Id')).toBe('evt_1');
    expect(message?.json()).toEqual(busEvent('evt_1').detail);
    const [parked] = await takeUntil(sqs, parking, ({ length }) => length === 1);
    expect(parked?.Body).toBe('not JSON');
    expect(parked?.MessageAttributes?.['reason']?.StringValue).toBe('malformed');
  });

  test('is stored only once if the bridge is killed between the acknowledgement by JetStream and the deletion from the queue', async () => {
    const { startBridge, put, stored } = await outgoing();
    await put(busEvent('evt_2'));
    const first = await startBridge();
    gate.before = (action) => {
      if (action !== 'DeleteMessage') return 'pass';
      first.kill();
      return 'refuse';
    };
    expect(await first.ended()).toBe('SIGKILL');
    gate.before = () => 'pass';
    const second = await startBridge();
    await until(async () => ((await second.health()).body.events?.carried === 1 ? true : undefined));
    expect((await second.health()).body.events?.redelivered).toBe(1);
    expect(await stored()).toBe(1);
  });

  test('waits in the queue while the server is down', async () => {
    const { startBridge, put, stored } = await outgoing();
    const bridge = await startBridge();
    await until(async () => ((await bridge.health()).status === 200 ? true : undefined));
    await server.kill();
    for (const body of numbered(15)) await put(busEvent(`evt_${body.length}${body}`.replaceAll(/[^a-z0-9_]/g, '')));
    await until(async () => ((await bridge.health()).status === 503 ? true : undefined));
    await server.start();
    await until(async () => ((await stored()) === 15 ? true : undefined));
    await until(async () => ((await bridge.health()).status === 200 ? true : undefined));
  });
});
