import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateFunctionCommand, InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import {
  CreateQueueCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { advanceClock, clockOffsetMs } from '../../local/clock.ts';
import { type Emulator, startEmulator } from '../../local/emulator.ts';
import { ACCOUNT, accessTo } from '../../local/emulator-environment.ts';
import { freePort } from '../../local/free-port.ts';
import { ensurePython } from '../../local/python-environment.ts';

const DAY_MS = 86_400_000;
const NAME = 'clock';
const folder = mkdtempSync(join(tmpdir(), 'payonce-clock-'));
const state = join(folder, 'state');
let emulator: Emulator;
let queue: string;

const lambda = () => new LambdaClient(accessTo(emulator.access));
const sqs = () => new SQSClient(accessTo(emulator.access));

async function start(): Promise<Emulator> {
  const at = { directory: folder, state, persist: true, port: await freePort(0) };
  return startEmulator({ python: await ensurePython(), ...at });
}

async function createRole(): Promise<string> {
  const { awsEndpoint, accessKeyId } = emulator.access;
  const trust = { Effect: 'Allow', Principal: { Service: 'lambda.amazonaws.com' }, Action: 'sts:AssumeRole' };
  const AssumeRolePolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement: [trust] });
  const answer = await fetch(awsEndpoint, {
    method: 'POST',
    headers: { authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/20260101/us-east-1/iam/aws4_request` },
    body: new URLSearchParams({
      Action: 'CreateRole',
      Version: '2010-05-08',
      RoleName: NAME,
      AssumeRolePolicyDocument,
    }),
  });
  expect(answer.status).toBe(200);
  return `arn:aws:iam::${ACCOUNT}:role/${NAME}`;
}

async function createFunction(): Promise<void> {
  const code = join(folder, 'index.mjs');
  const body = '({ offset: process.env.PAYONCE_CLOCK_OFFSET_MS, pid: process.pid, node: process.execPath })';
  writeFileSync(code, `export const handler = async () => ${body};`);
  const archive = join(folder, 'code.zip');
  execFileSync(await ensurePython(), ['-m', 'zipfile', '-c', archive, code]);
  const Code = { ZipFile: readFileSync(archive) };
  const runtime = { Runtime: 'nodejs24.x', Handler: 'index.handler', Timeout: 60 } as const;
  const Role = await createRole();
  await lambda().send(new CreateFunctionCommand({ FunctionName: NAME, Role, Code, ...runtime }));
}

interface Invoked {
  readonly offset: string;
  readonly pid: number;
  readonly node: string;
}

async function invoke(): Promise<Invoked> {
  const { Payload } = await lambda().send(new InvokeCommand({ FunctionName: NAME }));
  return JSON.parse(Buffer.from(Payload ?? []).toString('utf8')) as Invoked;
}

async function send(MessageBody: string, DelaySeconds = 0): Promise<void> {
  await sqs().send(new SendMessageCommand({ QueueUrl: queue, MessageBody, DelaySeconds }));
}

async function receive(): Promise<readonly Message[]> {
  const wanted = { QueueUrl: queue, MaxNumberOfMessages: 10, MessageSystemAttributeNames: ['SentTimestamp' as const] };
  return (await sqs().send(new ReceiveMessageCommand(wanted))).Messages ?? [];
}

beforeAll(async () => {
  mkdirSync(state);
  emulator = await start();
  await createFunction();
  queue = (await sqs().send(new CreateQueueCommand({ QueueName: NAME }))).QueueUrl ?? '';
});

afterAll(async () => {
  await emulator.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Each test continues with the emulator of the previous test. */
describe('the clock of the local AWS', () => {
  test('is at first the clock of this machine', async () => {
    expect(clockOffsetMs(state)).toBe(0);
    expect(await invoke()).toMatchObject({ offset: '0' });
    await send('later', 900);
    expect(await receive()).toEqual([]);
  });

  test('makes waiting messages due when it is advanced, and restarts the functions with the new time', async () => {
    const before = await invoke();
    expect(await advanceClock(emulator.access, DAY_MS)).toBe(DAY_MS);
    expect(clockOffsetMs(state)).toBe(DAY_MS);
    expect(await receive()).toMatchObject([{ Body: 'later' }]);
    const after = await invoke();
    expect(after.offset).toBe(String(DAY_MS));
    expect(after.pid).not.toBe(before.pid);
    expect(await invoke()).toEqual(after);
  });

  test('sets the Date header of deployed APIs, but not of AWS services, to which SDK clients adjust their clocks', async () => {
    const { awsEndpoint, accessKeyId } = emulator.access;
    const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/20260101/us-east-1/sqs/aws4_request`;
    const daysAhead = async (path: string) => {
      const { headers } = await fetch(`${awsEndpoint}${path}`, { headers: { authorization } });
      return Math.abs(Math.round((Date.parse(headers.get('date') ?? '') - Date.now()) / DAY_MS));
    };
    expect(await daysAhead('/_aws/execute-api/0123abcd/live/v1/admin/me')).toBe(1);
    expect(await daysAhead('/?Action=ListQueues&Version=2012-11-05')).toBe(0);
  });

  test.each([0, -1, 1.5, Number.NaN, 3_660 * DAY_MS])(
    'is advanced only by a positive whole number of milliseconds, to at most 3,660 days ahead; refused: %s',
    async (byMs) => {
      await expect(advanceClock(emulator.access, byMs)).rejects.toThrow('The local AWS did not advance its clock: ');
      expect(clockOffsetMs(state)).toBe(DAY_MS);
    },
  );

  test('keeps its offset after a restart', async () => {
    await emulator.stop();
    emulator = await start();
    expect(await advanceClock(emulator.access, 1_000)).toBe(DAY_MS + 1_000);
    expect(await invoke()).toMatchObject({ offset: String(DAY_MS + 1_000) });
    queue = (await sqs().send(new CreateQueueCommand({ QueueName: `${NAME}-again` }))).QueueUrl ?? '';
    await send('now');
    const [message] = await receive();
    const ahead = Number(message?.Attributes?.SentTimestamp) - Date.now();
    expect(Math.round(ahead / DAY_MS)).toBe(1);
  });
});

test('a function runs with a Node that "npm ci" does not remove', async () => {
  expect((await invoke()).node).toBe(join(folder, 'tmp', 'node'));
});
