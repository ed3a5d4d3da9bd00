/** Acts of merchants and operators with tools that move no money. */
import { EXPORT_KINDS, type ExportKind } from '../../../../lambdas/exports/domain/data-export.ts';
import { type Act, type Arguments, act } from './act.ts';
import { drawTenant } from './clients.ts';
import { endpointId } from './merchants.ts';
import { ask, endOf, keyOf, paymentOf } from './objects.ts';

const HOUR_MS = 3_600_000;

const testEvent = act<Arguments>({
  name: 'test_event',
  actor: 'merchant',
  feature: 'test_events',
  about: 'endpoint',
  weight: 5,
  delay: ['seconds', 'minutes', 'days'],
  draw: () => ({}),
  play: async (scene, step) => {
    const id = endpointId(scene, step);
    if (id === undefined) return 'nothing';
    return endOf(
      await ask(scene, step, { method: 'POST', path: `/v1/webhook_endpoints/${id}/test`, key: keyOf(step) }),
    );
  },
  describe: ({ of }, { name }) => `the merchant sends a test event to ${name(of)}`,
});

interface Annotation extends Arguments {
  /** @default the annotation is about the payment */
  readonly annotates?: number;
}

const annotate = act<Annotation>({
  name: 'annotate',
  actor: 'operator',
  feature: 'annotations',
  about: 'payment',
  weight: 3,
  delay: ['minutes', 'hours', 'days'],
  draw: ({ dice }) => (dice.chance(0.5) ? { annotates: dice.whole(1, 4) } : {}),
  play: async (scene, step) => {
    const id = paymentOf(scene, step);
    if (id === undefined) return 'nothing';
    const { annotates } = step;
    const body = { reason: 'Asked by the payer', ...(annotates === undefined ? {} : { annotates }) };
    const path = `/v1/admin/payments/${id}/annotations`;
    return endOf(await ask(scene, step, { method: 'POST', path, key: keyOf(step), body, as: 'operator' }));
  },
  describe: ({ of, annotates }, { name }) =>
    `an operator annotates ${annotates === undefined ? '' : `transition ${annotates} of `}${name(of)}`,
});

/** Maximum wait until a message becomes a dead letter, in hours. */
const MAX_HOURS = 24;

const redriveQueue = act<Arguments>({
  name: 'redrive_queue',
  actor: 'operator',
  feature: 'queue_redrives',
  about: 'nothing',
  weight: 3,
  delay: ['hours', 'days'],
  draw: () => ({}),
  play: async (scene, step) => {
    const { system } = scene;
    const dead = () =>
      Object.entries(system.queues).flatMap(([name, count]) => (count > 0 && name.endsWith('-dead') ? [name] : []));
    for (let hour = 0; hour < MAX_HOURS && dead().length === 0; hour += 1) await system.sleep(HOUR_MS);
    let end = 'nothing';
    for (const name of dead()) {
      const path = `/v1/admin/queues/${name.replace(/-dead$/, '-DeadLetters')}/redrive`;
      end = endOf(await ask(scene, step, { method: 'POST', path, key: keyOf(step), as: 'operator' }));
    }
    return end;
  },
  describe: () => 'an operator redrives each dead-letter queue through the API',
});

interface Export extends Arguments {
  readonly tenant: string;
  readonly kind: ExportKind;
}

const MINUTE_MS = 60_000;
const MAX_LOOKS = 60;
/** Start date of exports, before the beginning of every history. */
const FIRST_DAY = '2026-03-01';

const exportRows = act<Export>({
  name: 'export',
  actor: 'merchant',
  feature: 'exports',
  about: 'nothing',
  weight: 5,
  delay: ['minutes', 'hours', 'days'],
  near: ({ act: name }) => name === 'pay' || name === 'order' || name === 'refund',
  draw: ({ dice, has }) => ({
    tenant: drawTenant(dice, has),
    kind: dice.weighted(EXPORT_KINDS, (kind) => (kind === 'entries' ? 4 : 1)),
  }),
  play: async (scene, step) => {
    const { system } = scene;
    const { kind, tenant } = step;
    const body = { kind, from: FIRST_DAY, to: new Date(system.nowMs).toISOString().slice(0, 10) };
    const made = await ask(scene, step, { method: 'POST', path: '/v1/exports', key: keyOf(step), body, tenant });
    if (made.answer?.status !== 202) return endOf(made);
    const { id } = JSON.parse(made.answer.body) as { readonly id: string };
    // Reading the export starts a second writer if the first writer did not start.
    for (let look = 0; look < MAX_LOOKS; look += 1) {
      await system.sleep(MINUTE_MS);
      const { answer } = await ask(scene, step, { method: 'GET', path: `/v1/exports/${id}`, tenant });
      const { status } = (answer?.status === 200 ? JSON.parse(answer.body) : {}) as { readonly status?: string };
      if (status === 'completed') return 'done';
      if (status === 'failed') return 'failed';
    }
    return 'not written';
  },
  describe: ({ tenant, kind }) => `${tenant} exports its ${kind}`,
});

export const TOOL_ACTS: readonly Act[] = [testEvent, annotate, redriveQueue, exportRows];
