import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { secrets } from '../../lambdas/kernel/platform/secrets-manager.ts';
import { queues } from '../../lambdas/kernel/platform/sqs.ts';
import { systemPlatform } from '../../lambdas/kernel/platform/system-platform.ts';
import { configuredParties } from '../../lambdas/orders/parties/configured-parties.ts';
import type { PartiesConfig } from '../../lambdas/orders/parties/settings.ts';
import type { ReservationOrder } from '../../lambdas/orders/use/order-parties.ts';
import { callOnce } from '../../lambdas/outbound/http-call.ts';

/*
 * Runs as a separate process that a test can kill. Reads its settings and an order from the environment, and reserves
 * once.
 */

const { CONFIG = '', ORDER = '' } = process.env;
const platform = systemPlatform();
const { stock } = await configuredParties(JSON.parse(CONFIG) as PartiesConfig, {
  ...platform,
  ...queues,
  ...secrets,
  documents: documentClient(),
  send: callOnce,
});
const outcome = await stock.reserve(JSON.parse(ORDER) as ReservationOrder, { timeoutMs: 60_000 });
process.stdout.write(`${JSON.stringify(outcome)}\n`);
