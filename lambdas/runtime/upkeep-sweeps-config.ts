import * as z from 'zod';
import { Environment } from '../contract/environment.ts';
import { type PublisherConfig, readPublisherConfig } from './consumer-config.ts';
import { readViewsTable } from './views-config.ts';
import { readWebhookConfig, type WebhookConfig } from './webhook-config.ts';

/** What the upkeep jobs that sweep were deployed with. */
export interface UpkeepSweepsConfig {
  readonly webhooks: WebhookConfig;
  readonly publisher: PublisherConfig;
  readonly viewsTable: string;
  /** When an event that the projector has not seen is taken for lost. */
  readonly lostAfterSeconds: number;
}

const seconds = z.coerce.number('must be seconds').int('must be whole seconds').min(1, 'must be a second or more');

/** @throws Error naming the variable that is missing or wrong, or the one that would switch idempotency off */
export function readUpkeepSweepsConfig(environment: Readonly<Record<string, string | undefined>>): UpkeepSweepsConfig {
  return {
    webhooks: readWebhookConfig(environment),
    publisher: readPublisherConfig(environment),
    viewsTable: readViewsTable(environment),
    lostAfterSeconds: readSeconds(environment[Environment.lostAfterSeconds]),
  };
}

function readSeconds(given: string | undefined): number {
  const parsed = seconds.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new Error(`the environment variable ${Environment.lostAfterSeconds} ${parsed.error.issues[0]?.message ?? ''}`);
}
