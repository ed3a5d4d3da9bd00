import { describeProcessor } from '../descriptor.ts';
import { stripeContract } from './contract.ts';

export const stripe = describeProcessor(stripeContract, {
  client: async () => (await import('./stripe-client.ts')).createStripeClient,
  books: async () => (await import('./stripe-client.ts')).createStripeBooks,
  signature: async () => (await import('./stripe-signature.ts')).stripeSignature,
  readEvent: async () => (await import('./stripe-event.ts')).readStripeEvent,
});
