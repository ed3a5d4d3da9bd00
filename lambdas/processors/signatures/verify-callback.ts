import { invariant } from '../../kernel/invariant.ts';
import type { ActiveSecrets } from '../../kernel/platform/active-secrets.ts';
import type { Clock } from '../../kernel/world.ts';
import { type CallbackSource, GENERAL_SCHEMES } from '../contract.ts';
import type { ProcessorDescriptor } from '../descriptor.ts';
import type { SignatureScheme, SignatureVerdict, SignedCallback } from './signature.ts';

export interface CallbackVerification {
  /** The source's own. */
  readonly scheme: SignatureScheme;
  readonly secrets: Pick<ActiveSecrets, 'active' | 'renewed'>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/**
 * Whether the source has sent this. A signature that no known secret made may be made with one that was added since:
 * it is verified once more, with secrets read anew.
 *
 * @throws what `ActiveSecrets` throws
 */
export async function verifyCallback(
  { scheme, secrets, clock }: CallbackVerification,
  source: CallbackSource,
  callback: SignedCallback,
): Promise<SignatureVerdict> {
  invariant(scheme.name === source.scheme, 'a callback is verified by the scheme of its source');
  // When it came: what we wait for must not make it late.
  const nowMs = clock.nowMs();
  const verdict = await scheme.verify(callback, await secrets.active(source.secretId), nowMs);
  if (verdict.kind === 'valid' || verdict.reason !== 'mismatch') return verdict;
  const renewed = await secrets.renewed(source.secretId);
  return renewed === undefined ? verdict : scheme.verify(callback, renewed, nowMs);
}

const GENERAL: Readonly<Record<(typeof GENERAL_SCHEMES)[number], () => Promise<SignatureScheme>>> = {
  'standard-webhooks': async () => (await import('./standard-webhooks-signature.ts')).standardWebhooksSignature,
};

/** The scheme of a name: a general one, or that of the processor which signs by it. @throws when there is none */
export async function signatureScheme(
  name: string,
  processors: readonly ProcessorDescriptor[],
): Promise<SignatureScheme> {
  const general = GENERAL_SCHEMES.find((each) => each === name);
  const load = general === undefined ? ownScheme(name, processors) : GENERAL[general];
  invariant(load !== undefined, `no processor signs by the scheme ${name}`);
  return load();
}

function ownScheme(
  name: string,
  processors: readonly ProcessorDescriptor[],
): ProcessorDescriptor['signature'] | undefined {
  return processors.find(({ callbacks }) => callbacks.scheme === name)?.signature;
}
