import { LambdaClient } from '@aws-sdk/client-lambda';
import { ListDeadLetterSourceQueuesCommand, type Message, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { Command } from 'commander';
import { awsTarget, deadLetterQueues, serviceOutput } from './deployment.ts';
import { parkedWork, redrive } from './redriving.ts';
import { invoke, republishRange } from './republishing.ts';

const program = new Command('npm run events:redrive --')
  .description(
    'After the fix: brings on their way again what the relay parked and what consumers could not take, with your own AWS credentials and region. Harmless: an event takes effect once.',
  )
  .option('--local', 'the stack that "npm start" brought up')
  .action(async ({ local = false }: { readonly local?: boolean }) => {
    const target = awsTarget(local);
    const sqs = new SQSClient(target);
    const parked = await serviceOutput(target, 'parkedRecordsQueue');
    await told('parked records', redrive(sqs, parked, await relayAgain(target), report));
    for (const queueUrl of await deadLetterQueues(target)) {
      const consume = await consumeAgain(sqs, queueUrl);
      const name = queueUrl.slice(queueUrl.lastIndexOf('/') + 1);
      await told(name, redrive(sqs, queueUrl, consume, report));
    }
  });

try {
  await program.parseAsync();
} catch (error) {
  report(error);
  process.exitCode = 1;
}

/** A record goes to the relay as the Stream would bring it; of a batch that is lost, the Ledger has all. */
async function relayAgain(target: ReturnType<typeof awsTarget>): Promise<(message: Message) => Promise<void>> {
  const lambda = new LambdaClient(target);
  const [relay, republisher] = await Promise.all([
    serviceOutput(target, 'relayFunction'),
    serviceOutput(target, 'republishFunction'),
  ]);
  return async ({ Body = '' }) => {
    const work = parkedWork(Body);
    if (work.kind === 'republish') {
      const { unpublishable } = await republishRange(lambda, republisher, work, () => undefined);
      if (unpublishable === 0) return;
      throw new Error(`${unpublishable} of its events cannot be published: the log of ${republisher} says why.`);
    }
    const { batchItemFailures } = await invoke<{ readonly batchItemFailures: readonly unknown[] }>(lambda, relay, {
      Records: [work.record],
    });
    if (batchItemFailures.length > 0) throw new Error('The relay could not publish it now.');
  };
}

/** A message goes back to the queue that it came from. */
async function consumeAgain(sqs: SQSClient, deadLetters: string): Promise<(message: Message) => Promise<void>> {
  const { queueUrls: [source] = [] } = await sqs.send(new ListDeadLetterSourceQueuesCommand({ QueueUrl: deadLetters }));
  if (source === undefined) throw new Error(`No queue has ${deadLetters} for its dead letters.`);
  return async ({ Body = '' }) => {
    await sqs.send(new SendMessageCommand({ QueueUrl: source, MessageBody: Body }));
  };
}

async function told(name: string, running: ReturnType<typeof redrive>): Promise<void> {
  const { done, failed } = await running;
  console.log(`${name}: ${done} brought on their way, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}

function report(error: unknown): void {
  console.error(error instanceof Error ? error.message : String(error));
}
