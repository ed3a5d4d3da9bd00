import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { MemoryTransitions } from './memory-transitions.ts';
import { describeTransitionReader } from './transition-reader-suite.ts';

describeTransitionReader('memory', async () => {
  const all: Transition[] = [];
  return { reader: new MemoryTransitions(() => all), append: async (transition) => void all.push(transition) };
});
