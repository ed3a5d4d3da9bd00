import { Api } from '../world/api.ts';
import type { CapturedExamples } from './captured-examples.ts';

export async function captureOrders(examples: CapturedExamples): Promise<void> {
  const body = examples.declared('createOrder', 'whole');
  const api = new Api();
  const completed = await api.order('k-1', body);
  api.world.mailer.trouble = 'down';
  const late = await api.order('k-2', body);
  for (const [name, summary, reply] of [
    ['completed', 'Paid, reserved, confirmed and credited', completed],
    ['late', 'Paid and reserved; the e-mail is delayed and will be sent later', late],
  ] as const) {
    examples.answer('createOrder', name, summary, reply);
    const shown = await api.ask('GET', `/v1/orders/${String(reply.body['id'])}`);
    examples.answer('getOrder', name, summary, shown);
  }
  const page = await api.ask('GET', '/v1/orders?limit=1');
  examples.answer('listOrders', 'page', 'The newest order, with more to follow', page);
  const unknown = await api.order('k-3', { ...body, source: 'tok_async' });
  examples.answer('createOrder', 'processing', 'Outcome not known yet', unknown);
}
