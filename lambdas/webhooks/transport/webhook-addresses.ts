import { isIP } from 'node:net';
import type { WebhookAddresses } from '../use/webhooks.ts';
import { type AddressRulesOptions, areAllowed, checkUrl, type Resolve } from './addresses.ts';

/** Long enough for any healthy resolver, but short, because the caller waits. */
const LOOK_UP_MS = 3_000;

/** A name that does not resolve is accepted, because every request checks the addresses again. */
export function webhookAddresses(resolve: Resolve, options: AddressRulesOptions): WebhookAddresses {
  return {
    refusal: async (text) => {
      const ruling = checkUrl(text, options);
      if (ruling.kind === 'refused') return ruling.reason;
      if (isIP(ruling.host) !== 0) return undefined;
      const found = await known(resolve, ruling.host);
      return found === undefined || areAllowed(found, options) ? undefined : 'must have a public name or address';
    },
  };
}

async function known(resolve: Resolve, host: string) {
  const { promise: tooLate, resolve: giveUp } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => giveUp(undefined), LOOK_UP_MS);
  try {
    return await Promise.race([resolve(host), tooLate]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
