import * as z from 'zod';
import { type PublisherConfig, readPublisherConfig } from '../events/settings.ts';
import { Environment } from '../kernel/contract/environment.ts';
import { readVariables, type Variables } from '../kernel/platform/variables.ts';
import { readViewsTable } from '../views/settings.ts';
import { readWebhookConfig, type WebhookConfig } from '../webhooks/settings.ts';

/** What the upkeep jobs that sweep were deployed with. */
export interface UpkeepSweepsConfig {
  readonly webhooks: WebhookConfig;
  readonly publisher: PublisherConfig;
  readonly viewsTable: string;
  /** When an event that the projector has not seen is taken for lost. */
  readonly lostAfterSeconds: number;
}

const seconds = z.coerce.number('must be seconds').int('must be whole seconds').min(1, 'must be a second or more');
const patience = z.object({ [Environment.lostAfterSeconds]: seconds });

/** @throws Error naming the variable that is missing or wrong */
export function readUpkeepSweepsConfig(environment: Variables): UpkeepSweepsConfig {
  return {
    webhooks: readWebhookConfig(environment),
    publisher: readPublisherConfig(environment),
    viewsTable: readViewsTable(environment),
    lostAfterSeconds: readVariables(patience, environment)[Environment.lostAfterSeconds],
  };
}
