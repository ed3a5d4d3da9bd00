import type { Processor } from '../../payments/use/processor.ts';
import { sandboxContract } from './contract.ts';

export type OptionalAbility = 'holds' | 'partial-captures' | 'refunds' | 'partial-refunds';

/** @param list as in the setting `processorWithout` */
export function abilitiesWithout(list = ''): Processor['abilities'] {
  const { abilities } = sandboxContract;
  const missing = new Set<string>(list.split(','));
  const lacks = (...names: readonly OptionalAbility[]) => names.some((name) => missing.has(name));
  return {
    ...abilities,
    partialCapture: !lacks('holds', 'partial-captures'),
    refund: !lacks('refunds'),
    partialRefund: !lacks('refunds', 'partial-refunds'),
    holdValidityMs: lacks('holds') ? 0 : abilities.holdValidityMs,
  };
}
