import type { Command } from 'commander';
import * as z from 'zod';
import { addAccess, askerOf, readAnswer, TENANT } from './operator-api.ts';
import { isoTime, readCountOf, readSeconds, type Session, table } from './session.ts';

const MAX = 100;

const delivery = z.object({
  id: z.string(),
  event: z.string(),
  type: z.string(),
  status: z.string(),
  attempts: z.array(z.object({ at: z.int(), status: z.int().nullable(), error: z.string().nullable() })),
  next_attempt: z.int().nullable(),
});
const deliveries = z.object({ data: z.array(delivery) });
const replay = z.object({ id: z.string(), status: z.string() });

/** `payonce webhooks`. */
export function addWebhooks(program: Command, session: Session): void {
  const webhooks = program
    .command('webhooks')
    .description('lists the deliveries of a webhook endpoint, and sends events again, with a tenant’s key');
  addAccess(webhooks, TENANT);
  const ask = askerOf(session, webhooks, TENANT);
  const at = (endpoint: string) => `/v1/webhook_endpoints/${encodeURIComponent(endpoint)}`;

  webhooks
    .command('deliveries <endpoint>')
    .description('lists the deliveries of an endpoint, newest event first, with their last attempt')
    .option('--most <n>', `how many, 1 to ${MAX}`, readCountOf(MAX), 20)
    .action(async (endpoint: string, { most }: { readonly most: number }) => {
      const document = await ask('GET', `${at(endpoint)}/deliveries?limit=${most}`);
      session.show(document, lines(readAnswer(deliveries, document).data));
    });

  webhooks
    .command('resend <endpoint> <delivery>')
    .description('sends an event again, with its id')
    .action(async (endpoint: string, id: string) => {
      const document = await ask('POST', `${at(endpoint)}/deliveries/${encodeURIComponent(id)}/resend`);
      session.show(document, lines([readAnswer(delivery, document)]));
    });

  webhooks
    .command('replay <endpoint>')
    .description('sends every event of a range of time again, each with its id')
    .requiredOption('--created-from <seconds>', 'the start, in Unix seconds', readSeconds)
    .requiredOption('--created-to <seconds>', 'the end, exclusive, at most 31 days later', readSeconds)
    .action(async (endpoint: string, { createdFrom, createdTo }: { createdFrom: number; createdTo: number }) => {
      const body = { created_from: createdFrom, created_to: createdTo };
      const document = await ask('POST', `${at(endpoint)}/replay`, body);
      const { id, status } = readAnswer(replay, document);
      session.show(document, [`${id} is ${status}.`]);
    });
}

function lines(found: readonly z.infer<typeof delivery>[]): readonly string[] {
  if (found.length === 0) return ['No deliveries.'];
  const rows = found.map(({ id, type, status, attempts, next_attempt: next }) => {
    const last = attempts.at(-1);
    return [
      id,
      type,
      status,
      String(attempts.length),
      last === undefined ? '' : `${isoTime(last.at * 1000)} ${last.status ?? last.error ?? ''}`,
      next === null ? '' : isoTime(next * 1000),
    ];
  });
  return table(['DELIVERY', 'EVENT', 'STATUS', 'ATTEMPTS', 'LAST', 'NEXT'], rows);
}
