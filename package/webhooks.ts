/** `payonce/webhooks`: webhook verification for Node 20.3 and later. It has no dependencies. */
export { PayonceError } from '../client/errors.ts';
export { verifyWebhook, type WebhookEvent, type WebhookOptions } from '../client/webhooks.ts';
