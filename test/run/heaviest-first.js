import Sequencer from '@jest/test-sequencer';
import { weightOf } from './entries.ts';

/**
 * Sorts tests in Jest's own order. Before Jest knows durations, puts the heaviest entries first, so that no heavy entry
 * starts last.
 */
class HeaviestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    if (tests.some(({ duration }) => duration !== undefined)) return sorted;
    const weights = new Map(tests.map((test) => [test, weightOf(test.path)]));
    return sorted.sort((left, right) => weights.get(right) - weights.get(left));
  }
}

export default HeaviestFirst;
