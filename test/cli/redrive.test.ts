import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { payonceProgram } from '../../cli/program.ts';
import { StackOutput } from '../../lambdas/kernel/contract/api.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';

/** The queues `second` and `lanes` share a dead-letter queue. */
const WORK = new Map([
  ['first', 'first-dead'],
  ['second', 'second-dead'],
  ['lanes', 'second-dead'],
]);
let endpoint = '';
let busy: readonly string[] = [];
let moved: string[] = [];
let isLambdaAway = false;
/** Each entry has the queues whose messages were moved before the entry was written. */
let recorded: { readonly written: string; readonly moved: readonly string[] }[] = [];

function stacks(action: string): string {
  const { parkedRecordsQueue, relayFunction, republishFunction, deadLettersFunction } = StackOutput;
  const { idempotencyTable, ledgerTable, registryTable, viewsTable } = StackOutput;
  const tables = [idempotencyTable, ledgerTable, registryTable, viewsTable];
  const keys = [parkedRecordsQueue, relayFunction, republishFunction, deadLettersFunction, ...tables];
  const outputs = keys.map((key) => `<OutputKey>${key}</OutputKey><OutputValue>${endpoint}/parked</OutputValue>`);
  const queues = [...new Set([...WORK].flat())].map(
    (name) =>
      `<ResourceType>AWS::SQS::Queue</ResourceType><PhysicalResourceId>${endpoint}/${name}</PhysicalResourceId>`,
  );
  const members = (texts: readonly string[]) => texts.map((each) => `<member>${each}</member>`).join('');
  return action === 'DescribeStacks'
    ? `<Stacks><member><Outputs>${members(outputs)}</Outputs></member></Stacks>`
    : `<StackResourceSummaries>${members(queues)}</StackResourceSummaries>`;
}

const arnOf = (name: string): string => `arn:aws:sqs:eu-west-1:123456789012:${name}`;
const nameOf = (address: unknown): string => String(address).split(/[/:]/).at(-1) ?? '';

/** Each dead-letter queue has one dead letter, and the activity log is empty. */
const SERVICES: Readonly<Record<string, (input: Readonly<Record<string, unknown>>) => object>> = {
  GetQueueAttributes: ({ QueueUrl }) => {
    const name = nameOf(QueueUrl);
    if (name === 'parked') return { Attributes: { ApproximateNumberOfMessages: '0' } };
    const policy = JSON.stringify({ deadLetterTargetArn: arnOf(WORK.get(name) ?? ''), maxReceiveCount: 5 });
    const attributes = name.endsWith('-dead') ? { ApproximateNumberOfMessages: '1' } : { RedrivePolicy: policy };
    return { Attributes: { QueueArn: arnOf(name), ...attributes } };
  },
  StartMessageMoveTask: ({ SourceArn }) => {
    const name = nameOf(SourceArn);
    if (busy.includes(name)) throw new Error('There is already a task running.');
    moved.push(name);
    return { TaskHandle: name };
  },
  Query: () => ({ Items: [], Count: 0 }),
  TransactWriteItems: (input) => {
    recorded.push({ written: JSON.stringify(input), moved: [...moved] });
    return {};
  },
  ListMessageMoveTasks: () => ({
    Results: [{ Status: 'COMPLETED', ApproximateNumberOfMessagesMoved: 1, ApproximateNumberOfMessagesToMove: 1 }],
  }),
};

/** The call to the shop succeeds, and the call to the e-mail vendor fails. */
const DEAD_LETTERS = [
  { id: 'a', state: 'applied', vendor: 'shop', operation: 'reserve', reason: 'shop_unreachable', keptSinceMs: 0 },
  { id: 'b', state: 'stays', vendor: 'postmark', operation: 'email', reason: 'postmark_refused', keptSinceMs: 0 },
];

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url?.endsWith('/invocations') === true) {
    if (isLambdaAway)
      response.writeHead(403, { 'x-amzn-errortype': 'AccessDeniedException' }).end('{"Message":"not allowed"}');
    else response.end(JSON.stringify({ deadLetters: DEAD_LETTERS }));
    return;
  }
  const body = await text(request);
  const [, operation] = String(request.headers['x-amz-target'] ?? '').split('.');
  if (operation === undefined) {
    const action = new URLSearchParams(body).get('Action') ?? '';
    response.writeHead(200, { 'content-type': 'text/xml' });
    response.end(`<${action}Response><${action}Result>${stacks(action)}</${action}Result></${action}Response>`);
    return;
  }
  const type = { 'content-type': 'application/x-amz-json-1.0' };
  try {
    const answer = JSON.stringify(SERVICES[operation]?.(JSON.parse(body) as Record<string, unknown>));
    response.writeHead(200, type).end(answer);
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    response.writeHead(400, type).end(JSON.stringify({ __type: 'com.amazonaws.sqs#InvalidParameterValue', message }));
  }
}

const server = createServer((request, response) => {
  serve(request, response).catch(() => response.destroy());
});
beforeAll(async () => {
  endpoint = await listenOnLoopback(server);
});
afterAll(() => stopListening(server));
const { env } = process;
afterEach(() => {
  process.env = env;
  busy = [];
  isLambdaAway = false;
  moved = [];
  recorded = [];
});

async function redrive() {
  process.env = {
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'AKIATEST',
    AWS_SECRET_ACCESS_KEY: 'secret',
  };
  const printed: string[] = [];
  const program = payonceProgram({ print: (line) => printed.push(line), isTerminal: false, freshKey: () => 'key' });
  const error: unknown = await program
    .parseAsync(['--operator', 'ada', 'redrive', '--json'], { from: 'user' })
    .catch((thrown: unknown) => thrown);
  return { ...(error instanceof Error ? endingOf(error) : { exitCode: ExitCode.done }), printed };
}

test('a redrive moves and lists a dead-letter queue once if two queues share it', async () => {
  const { printed } = await redrive();
  expect(moved).toEqual(['first-dead', 'second-dead']);
  const { data } = JSON.parse(printed[0] ?? '') as { readonly data: readonly { readonly queue: string }[] };
  expect(data.map(({ queue }) => queue)).toEqual(['parked records', 'first-dead', 'second-dead', 'vendor calls']);
});

test('a redrive continues with the other queues if SQS refuses one move task', async () => {
  busy = ['first-dead'];
  const { exitCode, printed, ...ended } = await redrive();
  expect(ended).toMatchObject({ sentence: expect.stringContaining('There is already a task running.') });
  expect(exitCode).toBe(ExitCode.incomplete);
  expect(moved).toEqual(['second-dead']);
  expect(printed).toHaveLength(1);
  expect(recorded).toEqual([
    { written: expect.stringMatching(/"events.redrive_started".*"operator":\{"S":"ada"\}/), moved: [] },
    { written: expect.stringContaining('"dead_letters.redrive_started"'), moved: ['second-dead'] },
  ]);
  expect(JSON.parse(printed[0] ?? '')).toMatchObject({
    data: [
      { queue: 'parked records', redriven: 0, failed: 0 },
      { queue: 'first-dead', redriven: 0, failed: 1 },
      { queue: 'second-dead', redriven: 1, failed: 0, reasons: [] },
      { queue: 'vendor calls', redriven: 1, failed: 1, reasons: ['postmark email: postmark_refused'] },
    ],
  });
});

test('a redrive reports the messages that it moved even if the dead-letter function cannot be called', async () => {
  isLambdaAway = true;
  const { exitCode, printed } = await redrive();
  expect(exitCode).toBe(ExitCode.incomplete);
  expect(JSON.parse(printed[0] ?? '')).toMatchObject({
    data: [
      { queue: 'parked records' },
      { queue: 'first-dead', redriven: 1 },
      { queue: 'second-dead', redriven: 1 },
      { queue: 'vendor calls', redriven: 0, failed: 1, reasons: [expect.stringContaining('not allowed')] },
    ],
  });
});
