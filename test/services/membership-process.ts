import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { mock } from 'node:test';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { listenerOf } from '../../examples/listener.ts';
import { membership } from '../../examples/membership/membership.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';

/*
 * Runs the example as a process that can pause at one point. It prints each transaction on standard output, such as
 * `part ok` or `commit refused`. `PAUSE` has the format `<before|after> <transaction> <number>`. At that point, the
 * process prints `paused`, and continues after it reads the line `continue` on standard input. With `CLOCK=simulated`,
 * time advances only by lines such as `pass 400`, in milliseconds.
 */

const { TABLE = '', SECRET = '', LEASE = '25', PAUSE = '', CLOCK = '' } = process.env;
const say = (text: string) => process.stdout.write(`${text}\n`);
const lines = createInterface({ input: process.stdin });
const counts = new Map<string, number>();
if (CLOCK === 'simulated') mock.timers.enable({ apis: ['setInterval', 'Date'], now: Date.now() });
lines.on('line', (line) => {
  const [, milliseconds] = /^pass (\d+)$/.exec(line) ?? [];
  if (milliseconds !== undefined) mock.timers.tick(Number(milliseconds));
});

async function pauseAt(point: string): Promise<void> {
  if (point !== PAUSE) return;
  say('paused');
  await new Promise<void>((resolve) => lines.on('line', (line) => (line === 'continue' ? resolve() : undefined)));
}

interface Transaction {
  readonly TransactItems?: readonly { readonly Put?: { readonly Item?: { readonly status?: unknown } } }[];
}

function stepOf({ TransactItems: items = [] }: Transaction): string {
  const status = items[0]?.Put?.Item?.status;
  if (status !== undefined) return JSON.stringify(status).includes('INPROGRESS') ? 'claim' : 'commit';
  return items.length > 1 ? 'part' : 'renewal';
}

const client = new DynamoDBClient({ maxAttempts: 1 });
client.middlewareStack.add(
  (next, { commandName }) =>
    async (args) => {
      if (commandName !== 'TransactWriteItemsCommand') return next(args);
      const step = stepOf(args.input as Transaction);
      const number = (counts.get(step) ?? 0) + 1;
      counts.set(step, number);
      await pauseAt(`before ${step} ${number}`);
      try {
        const output = await next(args);
        say(`${step} ok`);
        await pauseAt(`after ${step} ${number}`);
        return output;
      } catch (error) {
        say(`${step} refused`);
        throw error;
      }
    },
  { step: 'initialize', priority: 'high' },
);

const app = membership({
  table: TABLE,
  client: documentClient(client),
  jobSecrets: async () => [SECRET],
  nowMs: Date.now,
  leaseSeconds: Number(LEASE),
});
const server = createServer(listenerOf(app.fetch)).listen(0, '127.0.0.1', () => {
  say(`listening ${(server.address() as AddressInfo).port}`);
});
