import { invariant } from '../../kernel/invariant.ts';
import type { ActiveSecrets } from '../../kernel/platform/active-secrets.ts';
import { type WireClock, wireMs } from '../../kernel/world.ts';
import { type CallbackSource, GENERAL_SCHEMES } from '../contract.ts';
import type { ProcessorDescriptor } from '../descriptor.ts';
import type { SignatureScheme, SignatureVerdict, SignedCallback } from './signature.ts';

export interface CallbackVerification {
  readonly scheme: SignatureScheme;
  readonly secrets: Pick<ActiveSecrets, 'active' | 'renewed'>;
  readonly clock: WireClock;
}

/**
 * After a mismatch, reads the secrets again and verifies once more, because a secret may have been added since the last
 * read.
 *
 * @throws the errors of `ActiveSecrets`
 */
export async function verifyCallback(
  { scheme, secrets, clock }: CallbackVerification,
  source: CallbackSource,
  callback: SignedCallback,
): Promise<SignatureVerdict> {
  invariant(scheme.name === source.scheme, 'the source of the callback uses a different signature scheme');
  // Take the time before reading the secrets, so that a slow read does not make the callback late.
  const nowMs = wireMs(clock);
  const verdict = await scheme.verify(callback, await secrets.active(source.secretId), nowMs);
  if (verdict.kind === 'valid' || verdict.reason !== 'mismatch') return verdict;
  const renewed = await secrets.renewed(source.secretId);
  return renewed === undefined ? verdict : scheme.verify(callback, renewed, nowMs);
}

const GENERAL: Readonly<Record<(typeof GENERAL_SCHEMES)[number], () => Promise<SignatureScheme>>> = {
  'standard-webhooks': async () => (await import('./standard-webhooks-signature.ts')).standardWebhooksSignature,
};

export async function signatureScheme(
  name: string,
  processors: readonly ProcessorDescriptor[],
): Promise<SignatureScheme> {
  const general = GENERAL_SCHEMES.find((each) => each === name);
  const load = general === undefined ? ownScheme(name, processors) : GENERAL[general];
  invariant(load !== undefined, `no processor has the signature scheme ${name}`);
  return load();
}

function ownScheme(
  name: string,
  processors: readonly ProcessorDescriptor[],
): ProcessorDescriptor['signature'] | undefined {
  return processors.find(({ callbacks }) => callbacks.scheme === name)?.signature;
}
