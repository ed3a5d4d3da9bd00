import { MemoryWebhooks } from './memory-webhooks.ts';
import { describeWebhookStore } from './webhook-store-suite.ts';

describeWebhookStore('memory', async () => new MemoryWebhooks());
