import { type PublisherConfig, readPublisherConfig } from './consumer-config.ts';
import { readViewsTable } from './views-config.ts';
import { readWebhookConfig, type WebhookConfig } from './webhook-config.ts';

/** What the upkeep jobs that sweep were deployed with. */
export interface UpkeepSweepsConfig {
  readonly webhooks: WebhookConfig;
  readonly publisher: PublisherConfig;
  readonly viewsTable: string;
}

/** @throws Error naming the variable that is missing or wrong, or the one that would switch idempotency off */
export function readUpkeepSweepsConfig(environment: Readonly<Record<string, string | undefined>>): UpkeepSweepsConfig {
  return {
    webhooks: readWebhookConfig(environment),
    publisher: readPublisherConfig(environment),
    viewsTable: readViewsTable(environment),
  };
}
