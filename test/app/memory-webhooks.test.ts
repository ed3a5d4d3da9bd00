import { MemoryWebhooks } from '../../lambdas/adapters/memory/memory-webhooks.ts';
import { describeWebhookStore } from '../contract-suites/webhook-store-suite.ts';

describeWebhookStore('memory', async () => new MemoryWebhooks());
