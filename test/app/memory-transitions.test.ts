import { MemoryTransitions } from '../../lambdas/adapters/memory/memory-transitions.ts';
import type { Transition } from '../../lambdas/core/transition.ts';
import { describeTransitionReader } from '../contract-suites/transition-reader-suite.ts';

describeTransitionReader('memory', async () => {
  const all: Transition[] = [];
  return { reader: new MemoryTransitions(() => all), append: async (transition) => void all.push(transition) };
});
